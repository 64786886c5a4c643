import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import type { RunResult } from '../../src/agent/runs/run-types.ts';
import { readRunEvents } from '../../src/engine/read-run.ts';
import { createSystemClock } from '../../src/lib/clock.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { checkRunSurvival, type RunScene, type SurvivedRun } from './check-run-survival.ts';
import { readJournal } from './scene.ts';
import { seeded } from './seeded.ts';
import { drawKill, type KillPlan, MAX_KILLS, spendKills } from './spend-kills.ts';
import { type Life, startVictim, type VictimOptions } from './victim-process.ts';
import { LAB_RUNS, makeWorkflowLab, WORKFLOW_TOOLS } from './workflow-lab.ts';

const RUN = 'run_lab';
const PROGRAM = join(import.meta.dirname, 'workflow-victim.ts');

export interface WorkflowKillRun extends SurvivedRun {
  readonly seed: number;
  readonly kills: number;
  readonly events: number;
}

const live = (
  folder: string,
  end: Pick<VictimOptions, 'kill' | 'crashAt'> = {},
): Promise<Life<RunEvent, RunResult>> =>
  startVictim<RunEvent, RunResult>({ folder, session: RUN, program: PROGRAM, ...end }).life;

async function inspectRuns(folder: string): Promise<RunScene> {
  const store = await openSqliteStore({
    path: join(folder, 'store.db'),
    durability: 'process',
    clock: createSystemClock(),
    pid: process.pid,
  });
  try {
    const logs = new Map<string, readonly RunEvent[]>();
    for (const run of LAB_RUNS(RUN))
      if ((await store.info(run)) !== undefined) logs.set(run, await readRunEvents(store, run));
    return { logs, journalLength: readJournal(folder).length };
  } finally {
    await store.close();
  }
}

/** Runs one workflow through as many kills as the seed says, `most` at most, and checks that it survived them. */
async function killRun(seed: number, most: number, undisturbed: unknown): Promise<WorkflowKillRun> {
  const random = seeded(seed);
  const planned = Math.min(most, 1 + Math.floor(random() * MAX_KILLS));
  const folder = makeWorkflowLab();
  const lives: Life<RunEvent, RunResult>[] = [];
  const scenes: RunScene[] = [];
  for (let kills = 0; ; ) {
    const kill = kills < planned ? drawKill(random) : undefined;
    const looks = random() < 0.7;
    const life = await live(folder, kill === undefined ? {} : { kill });
    lives.push(life);
    if (!life.killed) break;
    kills++;
    // Where nobody looks, the next process is the first to open the file that the kill left.
    if (looks) scenes.push(await inspectRuns(folder));
  }
  const survived = await checkLives(folder, lives, scenes, undisturbed);
  return { seed, kills: lives.length - 1, ...survived };
}

async function checkLives(
  folder: string,
  lives: readonly Life<RunEvent, RunResult>[],
  scenes: readonly RunScene[],
  undisturbed: unknown,
): Promise<SurvivedRun & { readonly events: number }> {
  const last = lives.at(-1);
  if (last?.refused !== undefined)
    throw new Error(`It was refused: ${last.refused.code} ${last.refused.message}`);
  const { logs } = await inspectRuns(folder);
  const survived = checkRunSurvival({
    run: RUN,
    tools: WORKFLOW_TOOLS,
    printed: lives.map(({ events }) => events),
    scenes,
    logs,
    journal: readJournal(folder),
    undisturbed,
  });
  rmSync(folder, { recursive: true });
  const events = [...logs.values()].reduce((sum, log) => sum + log.length, 0);
  return { events, ...survived };
}

/** Longer than a run is held for: it is let go of, and taken up again. */
const NAP_MS = 1_100;

/** Lets a process kill itself at a point, goes on in this one, and checks that nothing was lost or done twice. */
export async function crashWorkflowAt(point: string, nth: number, undisturbed: unknown): Promise<void> {
  const folder = makeWorkflowLab(NAP_MS);
  const crashed = await live(folder, { crashAt: { point, nth } });
  if (!crashed.killed) throw new Error(`${point} was not passed ${nth} times.`);
  const scene = await inspectRuns(folder);
  const runtime = await createRuntime({ store: 'sqlite:store.db', durability: 'process', cwd: folder });
  try {
    await (await runtime.workflows.resume(RUN, { onWaiting: 'hold' })).result;
  } finally {
    await runtime.close();
  }
  await checkLives(folder, [crashed], [scene], undisturbed);
}

/** What the lab's workflow gives where nothing happens to it. */
export async function undisturbedOutput(): Promise<unknown> {
  const folder = makeWorkflowLab();
  const { ended } = await live(folder);
  if (ended?.status !== 'completed')
    throw new Error(`The lab's workflow does not work: ${JSON.stringify(ended)}`);
  rmSync(folder, { recursive: true });
  return ended.output;
}

/** Kills processes that work on a workflow until so many kills have been survived. */
export async function killWorkflowsUntil(
  plan: KillPlan<WorkflowKillRun>,
  known?: unknown,
): Promise<readonly WorkflowKillRun[]> {
  const undisturbed = known ?? (await undisturbedOutput());
  return spendKills('workflows', plan, (seed, most) => killRun(seed, most, undisturbed));
}
