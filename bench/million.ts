import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSystemClock } from '../telltale/src/lib/clock.ts';
import { openStore } from '../telltale/src/store/open-store.ts';
import type { Store, StreamWriter } from '../telltale/src/store/store.ts';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { atMost, exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- million [options]
  --events N    events that the large store holds (1000000)
  --streams N   streams that are appended to at once (100)
  --rounds N    rounds of 2,000 appends; each store has its turn in each (9)
  --no-postgres SQLite only
  --no-fail     print the targets, but end with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    streams: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '9' },
    'no-postgres': { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [events, streams, rounds] = [options.events, options.streams, options.rounds].map(Number) as [
  number,
  number,
  number,
];
if (options.help || ![events, streams, rounds].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

/** Events that the small store holds. */
const FEW = 1_000;
const A_ROUND = 2_000;
const MOST = 1.2;
const EVENT = JSON.stringify({
  type: 'step.completed',
  step: 'step_1',
  output: { n: 1, text: 'x'.repeat(80) },
});

interface Filled {
  readonly store: Store;
  /** Appends so many events, one at a time, in all streams side by side. */
  append(count: number): Promise<void>;
}

async function open(location: string): Promise<Filled> {
  const store = await openStore(location, { clock: createSystemClock(), durability: 'power' });
  const writers: { readonly writer: StreamWriter; seq: number }[] = [];
  for (let n = 0; n < streams; n++)
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
          while (left-- > 0) {
            await new Promise<void>((resolve, reject) =>
              each.writer.append({ expectedSeq: each.seq, events: [EVENT] }, (error) =>
                error === undefined ? resolve() : reject(error),
              ),
            );
            each.seq++;
          }
        }),
      );
    },
  };
}

async function measure(name: string, few: string, many: string) {
  const [small, large] = [await open(few), await open(many)];
  await small.append(FEW);
  for (let at = 0; at < events; at += A_ROUND * 25) {
    await large.append(Math.min(A_ROUND * 25, events - at));
    process.stderr.write(`\r${name}: ${Math.min(events, at + A_ROUND * 25).toLocaleString('en-US')} events`);
  }
  process.stderr.write('\n');
  const timed = async ({ append }: Filled) => {
    const started = performance.now();
    await append(A_ROUND);
    return ((performance.now() - started) * 1000) / A_ROUND;
  };
  const [smallUs, largeUs, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    // In turns, and each first every other time: a bad moment of the disk hits both.
    const [first, second] = round % 2 === 0 ? [small, large] : [large, small];
    const [one, other] = [await timed(first), await timed(second)];
    const [few, many] = round % 2 === 0 ? [one, other] : [other, one];
    smallUs.push(few);
    largeUs.push(many);
    ratios.push(many / few);
  }
  await small.store.close();
  await large.store.close();
  return { name, few: median(smallUs), many: median(largeUs), ratio: median(ratios) };
}

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-million-'));
const found = [
  await measure('SQLite', `sqlite:${join(folder, 'few.db')}`, `sqlite:${join(folder, 'many.db')}`),
];
if (!options['no-postgres']) {
  const server = await startPostgres({ durable: true });
  try {
    found.push(await measure('PostgreSQL', `${server.url}?schema=few`, `${server.url}?schema=many`));
  } finally {
    await server.stop();
  }
}
rmSync(folder, { recursive: true, force: true });

const verdicts = found.map(({ name, ratio }) =>
  atMost(
    `appending to ${name} at ${events.toLocaleString('en-US')} events takes at most ${MOST} times what it takes at ${FEW.toLocaleString('en-US')}`,
    ratio,
    MOST,
    '×',
  ),
);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), events, streams, found, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  console.log(`\n${describeMachine()}`);
  console.log(
    `${streams} streams at once, durability \`power\`; µs of wall time an append, median of ${rounds} rounds.\n`,
  );
  console.log(
    table(
      ['', `at ${FEW.toLocaleString('en-US')}`, `at ${events.toLocaleString('en-US')}`, 'ratio'],
      found.map(({ name, few, many, ratio }) => [name, figure(few), figure(many), figure(ratio)]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
