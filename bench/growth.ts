import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { type AppendFigures, measureAppends } from './growth/appends.ts';
import { type GrowthFigures, judgeGrowth } from './growth/targets.ts';
import { measureTurns, type TurnFigures } from './growth/turns.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const MEASUREMENTS = ['turns', 'appends'] as const;

const USAGE = `npm run bench -- growth [options]
  --only LIST     of ${MEASUREMENTS.join(', ')} (both)
  --rounds N      rounds of each (9)
  --events N      events in the large store (1000000)
  --no-postgres   append to SQLite only
  --handicap      each turn looks at all turns before it: shows that growth is found
  --no-fail       print the targets, but exit with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: MEASUREMENTS.join(',') },
    rounds: { type: 'string', default: '9' },
    events: { type: 'string', default: '1000000' },
    'no-postgres': { type: 'boolean', default: false },
    handicap: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const chosen = options.only.split(',');
const [rounds, events] = [options.rounds, options.events].map(Number) as [number, number];
const isBad =
  ![rounds, events].every((n) => Number.isInteger(n) && n > 0) ||
  !chosen.every((word) => (MEASUREMENTS as readonly string[]).includes(word));
if (options.help || isBad) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const progress = (line: string) => void process.stderr.write(`${line}\n`);
const root = mkdtempSync(join(tmpdir(), 'telltale-bench-growth-'));
try {
  const turns = chosen.includes('turns')
    ? await measureTurns({ root, rounds, handicap: options.handicap, progress })
    : undefined;
  const appends = chosen.includes('appends') ? await measureStores() : [];
  report({ ...(turns === undefined ? {} : { turns }), appends });
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function measureStores(): Promise<readonly AppendFigures[]> {
  const at = (name: string) => `sqlite:${join(root, name)}`;
  const found = [await measureAppends('SQLite', [at('few.db'), at('many.db')], { events, rounds, progress })];
  if (options['no-postgres']) return found;
  const server = await startPostgres({ durable: true });
  try {
    const [few, many] = [`${server.url}?schema=few`, `${server.url}?schema=many`];
    found.push(await measureAppends('PostgreSQL', [few, many], { events, rounds, progress }));
  } finally {
    await server.stop();
  }
  return found;
}

function report(figures: GrowthFigures): void {
  const verdicts = judgeGrowth(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), rounds, ...figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}; medians of ${rounds} rounds.\n`);
  const cells = (name: string, few: number, many: number, ratio: number) => [
    name,
    figure(few),
    figure(many),
    ratio.toFixed(2),
  ];
  const turnRow = ({ earlyUs, lateUs, ratio }: TurnFigures) =>
    cells('a turn at 30 turns, at 3,000; µs of CPU', earlyUs, lateUs, ratio);
  console.log(
    table(
      ['', 'small', 'large', 'ratio'],
      [
        ...(figures.turns === undefined ? [] : [turnRow(figures.turns)]),
        ...figures.appends.map(({ name, fewUs, manyUs, ratio }) =>
          cells(
            `an append to ${name} at 1,000 events, at ${events.toLocaleString('en-US')}; µs`,
            fewUs,
            manyUs,
            ratio,
          ),
        ),
      ],
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
