import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../../src/lib/clock.ts';
import { seeded } from '../recovery/seeded.ts';
import { bringUp } from './bring-up.ts';
import { checkEvidence } from './check-evidence.ts';
import { drain, type Quiet } from './drain.ts';
import type { Evidence, Verdict } from './evidence.ts';
import { gatherEvidence } from './gather-evidence.ts';
import { createFaultGiver } from './give-faults.ts';
import { JOURNAL, openJournal } from './journal.ts';
import { keepEvidence } from './keep-evidence.ts';
import { type LabHome, sleepMs } from './lab-home.ts';
import { LAB_AGENTS, writeLabProject } from './lab-project.ts';
import { isAlive, type Stage } from './lab-stage.ts';
import { createMember, type Member } from './member.ts';
import { createObserver } from './observer.ts';
import { openLabStore } from './open-lab-store.ts';
import { type Leash, openLeash } from './open-leash.ts';
import { type FaultKind, type HomeKind, planFaults } from './plan-faults.ts';
import { openPostgresHome } from './postgres-home.ts';
import { openSqliteHome } from './sqlite-home.ts';
import { createWorkload, RECIPES } from './workload.ts';

/** Tries to start a process at the beginning: on a machine that is overloaded a database may not answer in time. */
const FIRST_STARTS = 3;

export interface RoundOptions {
  readonly seed: number;
  readonly faults: number;
  readonly home: HomeKind;
  readonly workers: number;
  /** Kinds of faults that are left out. */
  readonly without?: readonly FaultKind[];
  /** What is worked on at once, about. */
  readonly atOnce?: number;
  readonly onProgress?: (line: string) => void;
}

/** What a fleet went through, and what became of it. */
export interface LabRound {
  readonly seed: number;
  readonly given: Readonly<Partial<Record<FaultKind, number>>>;
  readonly verdict: Verdict;
  readonly streams: number;
  readonly events: number;
  readonly effects: number;
  readonly interrupted: number;
  readonly seconds: number;
  /** What is no breach, but worth knowing. */
  readonly oddities: readonly string[];
  /** Kept where something is wrong. */
  readonly folder?: string;
}

const LOOK_MS = 100;
/** A fault does not wait longer than that for the journal to grow. */
const FAULT_PATIENCE_MS = 1_500;
const AT_ONCE = 6;

/** One fleet on one store through so many faults, from its first process to its verdict. */
export async function labRound(options: RoundOptions): Promise<LabRound> {
  const started = performance.now();
  const { seed, workers, onProgress = () => undefined } = options;
  const folder = mkdtempSync(join(tmpdir(), `telltale-lab-${seed}-`));
  mkdirSync(join(folder, 'logs'));
  writeLabProject(folder);
  const leash = openLeash();
  let keep = true;
  let home: LabHome | undefined;
  try {
    home = await openHome(options.home, folder, leash, workers);
    const stage = await openStage(options, { folder, leash, home });
    try {
      await giveAll(stage, options, onProgress);
      const quiet = await drain(stage, onProgress);
      for (const member of stage.members) await member.kill();
      const evidence = await gatherEvidence({ ...stage, quiet });
      const verdict = checkEvidence(evidence);
      const oddities = [...stage.giver.oddities, ...unaskedOf(stage.members), ...emptiesOf(quiet, evidence)];
      keep = verdict.breaches.length > 0;
      if (keep) keepEvidence(folder, evidence, verdict);
      return {
        seed,
        given: stage.giver.given,
        verdict,
        oddities,
        streams: evidence.streams.size,
        events: [...evidence.lines.values()].reduce((sum, lines) => sum + lines.length, 0),
        effects: evidence.journal.filter(({ what }) => what === 'before').length,
        interrupted: verdict.checked.doubt,
        seconds: (performance.now() - started) / 1_000,
        ...(keep ? { folder } : {}),
      };
    } finally {
      for (const member of stage.members) await member.kill();
      await stage.store.close();
    }
  } catch (thrown) {
    throw new Error(`${String(thrown)}\nWhat is left of it: ${folder}`, { cause: thrown });
  } finally {
    await home?.close(keep);
    await leash.close();
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function openHome(kind: HomeKind, folder: string, leash: Leash, workers: number): Promise<LabHome> {
  return kind === 'sqlite' ? openSqliteHome(folder, leash) : openPostgresHome(workers);
}

async function openStage(
  { seed, faults, workers, without = [], onProgress = () => undefined }: RoundOptions,
  { folder, leash, home }: { readonly folder: string; readonly leash: Leash; readonly home: LabHome },
): Promise<Stage> {
  const members = Array.from({ length: workers }, (_, index) =>
    createMember({
      name: `w${index + 1}`,
      folder,
      leash,
      argv: [
        ...(isWorker(home, index) ? ['worker'] : ['serve', '--port', '0', '--no-console']),
        ...LAB_AGENTS,
        '--json',
        '--store',
        home.urlFor(index),
      ],
    }),
  );
  await Promise.all(members.map((member) => bringUp(member, FIRST_STARTS)));
  const store = await openLabStore(home.direct, { clock: createSystemClock(), cwd: folder });
  const journal = openJournal(join(folder, JOURNAL));
  const observer = createObserver(store, journal);
  const random = seeded(seed ^ 0x5eed);
  const workload = createWorkload({ members, observer, name: `t${seed}`, random });
  const { kind, leaseMs } = home;
  const left = [...without, ...home.without];
  const plan = planFaults({ seed, faults, home: kind, workers, leaseMs, without: left });
  const giver = createFaultGiver(members, home, ({ n, kind: what, worker }) =>
    onProgress(`${n}/${faults}  ${what} w${worker + 1}`),
  );
  return { home, members, store, journal, observer, workload, giver, plan };
}

/** Of a fleet the third only works; the others answer HTTP as well. */
const isWorker = (home: LabHome, index: number): boolean => home.kind === 'postgres' && index === 2;

/** Feeds the fleet and gives it its faults, one after the other, each at its place. */
async function giveAll(
  stage: Stage,
  { seed, atOnce = AT_ONCE }: RoundOptions,
  onProgress: (line: string) => void,
): Promise<void> {
  const { observer, workload, journal, giver, plan } = stage;
  const random = seeded(seed ^ 0xfeed);
  const underWay = new Set<Promise<void>>();
  const run = (work: Promise<void>) => {
    const kept: Promise<void> = work.finally(() => underWay.delete(kept));
    underWay.add(kept);
  };
  let [lines, since] = [0, performance.now()];
  let attending = Promise.resolve();
  let isAttending = false;
  // Each kind of work once, whatever is drawn.
  const first = [...RECIPES];
  for (let next = 0; next < plan.length || first.length > 0; ) {
    await observer.look();
    const alive = [...observer.streams.values()].filter(isAlive).length;
    if (alive + underWay.size < atOnce) run(workload.begin(random(), first.shift()));
    if (!isAttending) {
      isAttending = true;
      attending = workload.attend().finally(() => {
        isAttending = false;
      });
    }
    const fault = plan[next];
    const { length } = journal.read();
    const isDue =
      fault !== undefined && (length - lines >= fault.after || performance.now() - since > FAULT_PATIENCE_MS);
    if (isDue && length > 0 && giver.give(fault)) {
      next++;
      [lines, since] = [length, performance.now()];
    }
    await sleepMs(LOOK_MS);
  }
  onProgress('all faults given');
  await Promise.all([...underWay, attending]);
  await giver.lifted();
}

const emptiesOf = (quiet: Quiet, { streams }: Evidence): readonly string[] => {
  const empty = [...quiet.streams].filter((stream) => !streams.has(stream));
  return empty.length === 0 ? [] : [`made and never begun: ${empty.join(', ')}`];
};

const unaskedOf = (members: readonly Member[]): readonly string[] =>
  members.flatMap((member) =>
    member.unasked() === 0 ? [] : [`${member.name} ended by itself ${member.unasked()} times`],
  );
