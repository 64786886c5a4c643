import { rmSync } from 'node:fs';
import { checkSurvival, responsesOf, type Survived } from './check-survival.ts';
import { LAB_SCRIPT, LAB_TOOLS, makeLabAgent } from './lab-agent.ts';
import { inspectScene, readJournal, type Scene } from './scene.ts';
import { seeded } from './seeded.ts';
import { drawKill, type KillPlan, MAX_KILLS, spendKills } from './spend-kills.ts';
import { type Life, startVictim } from './victim-process.ts';

const SESSION = 'ses_lab';

export interface KillRun extends Survived {
  readonly seed: number;
  readonly kills: number;
  readonly events: number;
}

/** Runs one session through as many kills as the seed says, `most` at most, and checks that it survived them. */
async function killRun(seed: number, most: number, undisturbed: readonly string[]): Promise<KillRun> {
  const random = seeded(seed);
  const planned = Math.min(most, 1 + Math.floor(random() * MAX_KILLS));
  const folder = makeLabAgent();
  const lives: Life[] = [];
  const scenes: Scene[] = [];
  for (let kills = 0; ; ) {
    const kill = kills < planned ? drawKill(random) : undefined;
    const looks = random() < 0.7;
    const life = await startVictim({ folder, session: SESSION, ...(kill === undefined ? {} : { kill }) })
      .life;
    lives.push(life);
    if (!life.killed) break;
    kills++;
    // Where nobody looks, the next process is the first to open the file that the kill left.
    if (looks) scenes.push(await inspectScene(folder, SESSION));
  }
  const last = lives.at(-1);
  if (last?.refused !== undefined)
    throw new Error(`It was refused: ${last.refused.code} ${last.refused.message}`);
  const { log } = await inspectScene(folder, SESSION);
  const survived = checkSurvival({
    tools: LAB_TOOLS,
    script: LAB_SCRIPT,
    printed: lives.map(({ events }) => events),
    scenes,
    log,
    journal: readJournal(folder),
    undisturbed,
  });
  rmSync(folder, { recursive: true });
  return { seed, kills: lives.length - 1, events: log.length, ...survived };
}

/** The responses of a session that nothing happens to. */
async function undisturbedResponses(): Promise<readonly string[]> {
  const folder = makeLabAgent();
  const { ended, events } = await startVictim({ folder, session: SESSION }).life;
  if (ended?.status !== 'completed')
    throw new Error(`The lab's agent does not work: ${JSON.stringify(ended)}`);
  rmSync(folder, { recursive: true });
  return responsesOf(events);
}

/** Kills processes that work on sessions until so many kills have been survived. */
export async function killUntil(plan: KillPlan<KillRun>): Promise<readonly KillRun[]> {
  const undisturbed = await undisturbedResponses();
  return spendKills('sessions', plan, (seed, most) => killRun(seed, most, undisturbed));
}
