import { createTagParser, type TagParserOptions } from '../../telltale/src/parser/tags/tag-parser.ts';
import { cut } from './chunks.ts';
import { fingerprint } from './fingerprint.ts';
import { type Family, families } from './hostile.ts';
import { measure, median } from './measure.ts';

const SMALL = 50_000;
const LARGE = 400_000;
/** Both sizes read this many characters in a sample: only the length of the input differs. */
const TIMES = LARGE / SMALL;
/** Noise stays below this, and a quadratic cost would reach 8. */
const MOST_GROWTH = 1.5;
/** A family that takes longer is not linear, whatever the machine. */
const PATIENCE_MS = 20_000;
/** Samples of each size, and of a family that seems to grow. */
const ROUNDS = 3;
const SECOND_LOOK = 15;

export interface Growth {
  readonly name: string;
  /** Nanoseconds of CPU time per character, one character a push. */
  readonly small: number;
  readonly large: number;
  /** How much more a character costs in the long input: the median of the ratios of all rounds. */
  readonly growth: number;
  /** Whether it neither grows nor gives other events in another cut. */
  readonly isLinear: boolean;
}

export interface GrowthOptions {
  /** Ours searches everything read so far on each push: shows that a quadratic parser is found. */
  readonly isQuadratic: boolean;
  readonly progress: (line: string) => void;
}

/** Reads each hostile family at two lengths. */
export async function measureLinearity({ isQuadratic, progress }: GrowthOptions): Promise<readonly Growth[]> {
  const growths: Growth[] = [];
  for (const family of families) {
    const growth = await examine(family, isQuadratic);
    growths.push(growth);
    progress(`${growths.length} of ${families.length} ${growth.isLinear ? '✓' : '✗'} ${family.name}`);
  }
  return growths;
}

async function examine(family: Family, isQuadratic: boolean): Promise<Growth> {
  const [small, large] = [cut(family.write(SMALL), 1), cut(family.write(LARGE), 1)];
  const run = (chunks: readonly string[]) => read(chunks, family.options, isQuadratic);
  if (run(large) === undefined)
    return { name: family.name, small: Number.NaN, large: Number.NaN, growth: Number.NaN, isLinear: false };
  const compare = async (rounds: number) => {
    const samples = await measure(
      [
        {
          name: 'small',
          run: () => {
            for (let time = 0; time < TIMES; time += 1) run(small);
          },
        },
        { name: 'large', run: () => run(large) },
      ],
      { rounds, sampleMs: 30, warmUpMs: 60 },
    );
    const [smalls, larges] = samples.map((taken) => taken.map(({ cpuMs }) => (cpuMs * 1e6) / LARGE));
    return {
      small: median(smalls!),
      large: median(larges!),
      growth: median(larges!.map((ns, round) => ns / smalls![round]!)),
    };
  };
  const first = await compare(ROUNDS);
  const timed = first.growth < MOST_GROWTH ? first : await compare(SECOND_LOOK);
  const sameEvents =
    fingerprint(small, family.options).hash === fingerprint([family.write(SMALL)], family.options).hash;
  return { name: family.name, ...timed, isLinear: timed.growth < MOST_GROWTH && sameEvents };
}

/** Returns the number of events, so that no work can be left out; undefined if it takes too long. */
function read(
  chunks: readonly string[],
  options: TagParserOptions | undefined,
  isQuadratic: boolean,
): number | undefined {
  const parser = createTagParser(options);
  const deadline = performance.now() + PATIENCE_MS;
  let events = 0;
  let seen = '';
  for (let index = 0; index < chunks.length; index += 1) {
    const chunk = chunks[index]!;
    if (isQuadratic) {
      seen += chunk;
      events += seen.indexOf('\0') === -1 ? 0 : 1;
    }
    events += parser.push(chunk).length;
    if ((index & 1023) === 0 && performance.now() > deadline) return undefined;
  }
  return events + parser.end().length;
}
