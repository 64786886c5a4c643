import { parseArgs } from 'node:util';
import { createTagParser, type TagParserOptions } from '../telltale/src/parser/tags/tag-parser.ts';
import { cut } from './parsing/chunks.ts';
import { fingerprint } from './parsing/fingerprint.ts';
import { type Family, families } from './parsing/hostile.ts';
import { describeMachine } from './parsing/machine.ts';
import { measure, median } from './parsing/measure.ts';
import { pinToOneCore } from './parsing/pin.ts';
import { table } from './parsing/table.ts';

const SMALL = 50_000;
const LARGE = 400_000;
/** Both sizes read this many characters in a sample, so that they differ in nothing but the length of the input. */
const TIMES = LARGE / SMALL;
const GROWTH = 1.5;
/** A family that does not come through in this time is not linear, whatever the machine. */
const PATIENCE_MS = 20_000;

const USAGE = `npm run bench -- linear [options]
  --runs N      samples of each size (5); a family over the limit is measured again, with three times as many
  --only TEXT   families whose name holds this text
  --handicap    ours searches all it has read on each push: shows that a quadratic parser is found out
  --no-fail     print the result, but end with 0 when a family fails
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    handicap: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const runs = Number(options.runs);
if (options.help || !(Number.isInteger(runs) && runs > 0)) {
  if (!options.help)
    process.stderr.write(`--runs takes a whole number above zero, not "${options.runs}".\n\n`);
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

interface Line {
  readonly name: string;
  /** Nanoseconds of CPU time a character. */
  readonly small: number;
  readonly large: number;
  readonly onePush: number;
  /** How much more a character costs in the long input: the median of the ratios of all rounds. */
  readonly growth: number;
  readonly sameEvents: boolean;
  /** What went wrong before anything could be measured. */
  readonly failure?: string;
  readonly ok: boolean;
}

const pinned = await pinToOneCore();
const chosen = families.filter(({ name }) => name.includes(options.only));
const lines: Line[] = [];
for (const family of chosen) {
  const line = await examine(family);
  lines.push(line);
  process.stderr.write(`${lines.length} of ${chosen.length} ${line.ok ? '✓' : '✗'} ${family.name}\n`);
}
const failed = lines.filter(({ ok }) => !ok);
if (options.json) console.log(JSON.stringify({ machine: describeMachine(), pinned, runs, lines }, null, 2));
else report();
process.exitCode = lines.length > 0 && (failed.length === 0 || options['no-fail']) ? 0 : 1;

async function examine(family: Family): Promise<Line> {
  const nothing = {
    name: family.name,
    small: 0,
    large: 0,
    onePush: 0,
    growth: 0,
    sameEvents: false,
    ok: false,
  };
  const [small, large, whole] = [
    cut(family.write(SMALL), 1),
    cut(family.write(LARGE), 1),
    [family.write(LARGE)],
  ];
  try {
    read(large, family.options, PATIENCE_MS);
    const once = (rounds: number) => compare(family, small, large, whole, rounds);
    const first = await once(runs);
    const timed = first.growth < GROWTH ? first : await once(3 * runs);
    const sameEvents =
      fingerprint(small, family.options).hash === fingerprint([family.write(SMALL)], family.options).hash;
    return { name: family.name, ...timed, sameEvents, ok: timed.growth < GROWTH && sameEvents };
  } catch (error) {
    return { ...nothing, failure: (error as Error).message };
  }
}

async function compare(
  family: Family,
  small: readonly string[],
  large: readonly string[],
  whole: readonly string[],
  rounds: number,
) {
  const samples = await measure(
    [
      {
        name: 'small',
        run: () => {
          for (let time = 0; time < TIMES; time += 1) read(small, family.options);
        },
      },
      { name: 'large', run: () => read(large, family.options) },
      { name: 'one push', run: () => read(whole, family.options) },
    ],
    { rounds, sampleMs: 30, warmUpMs: 60 },
  );
  const [smalls, larges, wholes] = samples.map((taken) => taken.map(({ cpuMs }) => (cpuMs * 1e6) / LARGE));
  return {
    small: median(smalls!),
    large: median(larges!),
    onePush: median(wholes!),
    growth: median(larges!.map((ns, round) => ns / smalls![round]!)),
  };
}

/** Returns how much was said, so that no work can be left out. */
function read(
  chunks: readonly string[],
  parserOptions?: TagParserOptions,
  patienceMs = Number.POSITIVE_INFINITY,
): number {
  const parser = createTagParser(parserOptions);
  const deadline = performance.now() + patienceMs;
  let events = 0;
  let seen = '';
  for (let index = 0; index < chunks.length; index += 1) {
    const chunk = chunks[index]!;
    if (options.handicap) {
      seen += chunk;
      events += seen.indexOf('\0') === -1 ? 0 : 1;
    }
    events += parser.push(chunk).length;
    if ((index & 1023) === 0 && performance.now() > deadline)
      throw new Error(`gave up after ${index} of ${chunks.length} pushes, ${patienceMs / 1000} s`);
  }
  return events + parser.end().length;
}

function report(): void {
  console.log(`\n${describeMachine()}; ${pinned}`);
  console.log(
    `Nanoseconds of CPU time a character, one character a push; medians of ${runs} interleaved samples. Growth must stay under ${GROWTH}.\n`,
  );
  const head = [
    'family',
    `${SMALL / 1000} k`,
    `${LARGE / 1000} k`,
    'growth',
    `${LARGE / 1000} k in one push`,
    'same events',
    '',
  ];
  const cells = lines.map((line) => [
    line.name,
    line.small.toFixed(0),
    line.large.toFixed(0),
    line.growth.toFixed(2),
    line.onePush.toFixed(1),
    line.sameEvents ? 'yes' : 'no',
    line.ok ? '✓' : '✗',
  ]);
  console.log(`${table(head, cells)}\n`);
  for (const { name, failure } of lines) if (failure !== undefined) console.log(`${name}: ${failure}`);
  console.log(
    failed.length === 0
      ? `✓ all ${lines.length} families are linear`
      : `✗ ${failed.length} of ${lines.length} families: ${failed.map(({ name }) => name).join('; ')}`,
  );
}
