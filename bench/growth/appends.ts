import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { openStore } from '../../telltale/src/store/open-store.ts';
import type { Store, StreamWriter } from '../../telltale/src/store/store.ts';
import { median } from '../parsing/measure.ts';

export interface AppendFigures {
  readonly name: string;
  /** Microseconds of wall time per append, to the small store and to the large one. */
  readonly fewUs: number;
  readonly manyUs: number;
  /** The median of the ratios of each round. */
  readonly ratio: number;
}

interface AppendOptions {
  /** Events in the large store. */
  readonly events: number;
  readonly rounds: number;
  readonly progress: (line: string) => void;
}

const STREAMS = 100;
/** Events in the small store. */
const FEW = 1_000;
const APPENDS_PER_ROUND = 2_000;
const FILL = 50_000;
const EVENT = JSON.stringify({
  type: 'step.completed',
  step: 'step_1',
  output: { n: 1, text: 'x'.repeat(80) },
});

interface Filled {
  readonly store: Store;
  /** Appends this many events one at a time, in all streams concurrently. */
  append(count: number): Promise<void>;
}

export async function measureAppends(
  name: string,
  [few, many]: readonly [string, string],
  { events, rounds, progress }: AppendOptions,
): Promise<AppendFigures> {
  const [small, large] = [await open(few), await open(many)];
  await small.append(FEW);
  for (let at = 0; at < events; at += FILL) {
    await large.append(Math.min(FILL, events - at));
    progress(`${name}: ${Math.min(events, at + FILL).toLocaleString('en-US')} events`);
  }
  const timed = async ({ append }: Filled) => {
    const started = performance.now();
    await append(APPENDS_PER_ROUND);
    return ((performance.now() - started) * 1000) / APPENDS_PER_ROUND;
  };
  const [fewUs, manyUs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    // Each store goes first every other time, so that a slow moment of the disk hits both.
    if (round % 2 === 0) fewUs.push(await timed(small));
    manyUs.push(await timed(large));
    if (round % 2 === 1) fewUs.push(await timed(small));
  }
  await small.store.close();
  await large.store.close();
  return {
    name,
    fewUs: median(fewUs),
    manyUs: median(manyUs),
    ratio: median(manyUs.map((us, round) => us / fewUs[round]!)),
  };
}

async function open(location: string): Promise<Filled> {
  const store = await openStore(location, { clock: createSystemClock(), durability: 'power' });
  const writers: { readonly writer: StreamWriter; seq: number }[] = [];
  for (let n = 0; n < STREAMS; n += 1)
    writers.push({
      writer: await store.create(`s${n}`, { kind: 'run', name: 'bench', status: 'running', title: '' }),
      seq: 0,
    });
  return {
    store,
    async append(count) {
      let left = count;
      await Promise.all(
        writers.map(async (each) => {
          for (; left > 0; each.seq += 1) {
            left -= 1;
            await new Promise<void>((resolve, reject) =>
              each.writer.append({ expectedSeq: each.seq, events: [EVENT] }, (error) =>
                error === undefined ? resolve() : reject(error),
              ),
            );
          }
        }),
      );
    },
  };
}
