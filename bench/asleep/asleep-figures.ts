import { atMost, type Verdict } from '../agents/verdict.ts';

export interface AsleepOptions {
  readonly folder: string;
  readonly store: string;
  readonly runs: number;
  /** For how long it is watched while all sleep. */
  readonly seconds: number;
  /** `begun`: the process starts them. `found`: they are in the store. `ended`: it starts them, and they do not wait. */
  readonly from: 'begun' | 'found' | 'ended';
  /** As a member of the store's fleet. */
  readonly capacity?: number;
}

export interface AsleepFigures {
  /** Until all of them sleep. */
  readonly ms: number;
  readonly cpuMs: number;
  /** What they hold of the heap, after the garbage was collected; what the process holds of memory. */
  readonly heapMiB: number;
  readonly rssMiB: number;
  /** Of one core, while all sleep. */
  readonly cpuShare: number;
}

/** What ten thousand runs that wait may hold of a process's memory. */
const MOST_MIB = 50;
/** Of one core: what a timer and a look at the store now and then take. */
const MOST_CPU = 0.02;

export interface NamedFigures extends AsleepFigures {
  readonly name: string;
  readonly from: AsleepOptions['from'];
}

export const judgeAsleep = (runs: number, figures: readonly NamedFigures[]): readonly Verdict[] =>
  figures
    .filter(({ from }) => from !== 'ended')
    .flatMap(({ name, from, heapMiB, rssMiB, cpuShare }) => [
      atMost(`${name}: ${runs} runs asleep hold at most ${MOST_MIB} MiB`, heapMiB, MOST_MIB, 'MiB'),
      // What starting them left behind is not theirs: the process would have it without them as well.
      ...(from === 'found'
        ? [atMost(`${name}: the process grows by at most ${MOST_MIB} MiB`, rssMiB, MOST_MIB, 'MiB')]
        : []),
      atMost(`${name}: no CPU while they sleep: at most 2 % of a core`, cpuShare * 100, MOST_CPU * 100, '%'),
    ]);
