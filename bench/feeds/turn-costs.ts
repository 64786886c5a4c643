import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime } from '../../telltale/src/index.ts';
import { median } from '../parsing/measure.ts';
import { createSeeded } from '../parsing/seeded.ts';
import { type Crowd, openCrowd } from './crowd.ts';
import { changingFeeds, type FeedMix, noFeeds, unchangedFeeds, unusedFeeds } from './feed-mix.ts';

export interface FeedLoad {
  readonly sessions: number;
  readonly feeds: number;
  readonly rounds: number;
  /** Turns of a session in one sample. */
  readonly turns: number;
  /** Each turn looks at all feeds that are not used. */
  readonly handicap: boolean;
}

export interface MixFigures extends Pick<FeedMix, 'kind' | 'name'> {
  readonly feeds: number;
  /** Microseconds of CPU time a turn, all threads: the median. */
  readonly turnUs: number;
  /** To the median of the agent without feeds that says the same. */
  readonly ratio: number;
  /** Milliseconds of CPU time from the start of a session to its first request. */
  readonly startMs: number;
  /** What a session holds on the heap, at its first request. */
  readonly heapKb: number;
}

const WARM_UP_ROUNDS = 4;
/** What is told and not judged is dear, and has a sample in so many rounds. */
const TOLD_EVERY = 5;
const SEED = 1_000;

const isJudged = ({ kind }: FeedMix): boolean => kind !== 'unchanged' && kind !== 'changing';

/**
 * All sessions of all agents are there at once, each held by its model; in turns those of one agent go on for some turns.
 * So all find the same heap and the same compiled code, and a neighbour's noise hits all alike.
 */
export async function measureTurns(
  load: FeedLoad,
  progress: (line: string) => void,
): Promise<readonly MixFigures[]> {
  const { sessions, feeds, rounds, turns } = load;
  const mixes: readonly FeedMix[] = [
    noFeeds(false),
    unusedFeeds(Math.ceil(feeds / 100), false),
    unusedFeeds(Math.ceil(feeds / 10), false),
    unusedFeeds(feeds, false),
    noFeeds(true),
    unusedFeeds(feeds, true),
    unchangedFeeds(feeds),
    changingFeeds(10),
  ];
  const root = mkdtempSync(join(tmpdir(), 'telltale-bench-feeds-'));
  const runtime = await createRuntime({ store: 'memory', cwd: root });
  try {
    // Loads the tokenizer's tables, too.
    const warm = await openCrowd(changingFeeds(1), { runtime, folder: join(root, 'warm'), sessions });
    await warm.advance(turns * WARM_UP_ROUNDS);
    await warm.close();
    const crowds: (Pick<MixFigures, 'startMs' | 'heapKb'> & {
      readonly mix: FeedMix;
      readonly crowd: Crowd;
    })[] = [];
    for (const [index, mix] of mixes.entries()) {
      progress(`starting ${sessions} sessions: ${mix.name}`);
      const before = heap();
      const cpu = process.cpuUsage();
      const folder = join(root, `agent-${index}`);
      const extra = load.handicap ? lookAt(mix.feeds) : undefined;
      const crowd = await openCrowd(mix, { runtime, sessions, folder, extra });
      const { user, system } = process.cpuUsage(cpu);
      const startMs = (user + system) / 1000 / sessions;
      crowds.push({ mix, crowd, startMs, heapKb: (heap() - before) / 1000 / sessions });
    }
    const dice = createSeeded(SEED);
    const samples: number[][] = crowds.map(() => []);
    for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
      // In another order each round: nobody always runs in the wake of the same neighbour.
      const taking = crowds
        .map((each, index) => ({ ...each, index, place: dice.between(0, 1_000_000) }))
        .filter(({ mix }) => isJudged(mix) || round % TOLD_EVERY === 0)
        .sort((one, other) => one.place - other.place);
      for (const { crowd, index } of taking) {
        await crowd.advance(1); // finds the caches as the neighbour left them
        const cpuUs = await crowd.advance(turns);
        if (round >= 0) samples[index]!.push(cpuUs);
      }
      progress(round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`);
    }
    for (const { crowd } of crowds) crowd.check();
    const figures = crowds.map(({ mix, startMs, heapKb }, index) => {
      const base =
        samples[mixes.findIndex((each) => each.feeds.length === 0 && each.metadata === mix.metadata)]!;
      const own = samples[index]!;
      return {
        kind: mix.kind,
        name: mix.name,
        feeds: mix.feeds.length,
        startMs,
        heapKb,
        turnUs: median(own),
        ratio: median(own) / median(base),
      };
    });
    for (const { crowd } of crowds) await crowd.close();
    return figures;
  } finally {
    await runtime.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** What is still held after a collection. */
function heap(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A handicap of some nanoseconds a feed. */
const lookAt = (feeds: readonly string[]) => () => {
  if (feeds.join('').length < feeds.length) throw new Error('A feed is empty.');
};
