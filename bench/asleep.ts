import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { runNode } from './agents/run-child.ts';
import type { AsleepFigures, AsleepOptions, NamedFigures } from './asleep/asleep-figures.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- asleep [options]
  Figures for docs/scale.md; there are no targets.

  --runs N      workflows that wait for a day (10000)
  --seconds N   for how long the process is watched while they do (10)
  --no-fleet    on SQLite only
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '10' },
    'no-fleet': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, seconds] = [options.runs, options.seconds].map(Number) as [number, number];
if (options.help || ![runs, seconds].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const CHILD = fileURLToPath(new URL('./asleep/child.ts', import.meta.url));
const CAPACITY = 64;
const figures: NamedFigures[] = [];

await measureAll('SQLite', 'sqlite:asleep.db');
if (!options['no-fleet']) {
  const postgres = await startPostgres({ durable: true });
  try {
    await measureAll('a fleet', postgres.url, CAPACITY);
  } finally {
    await postgres.stop();
  }
}
report();

/** Each in a process of its own; the second finds what the first has left. */
async function measureAll(home: string, store: string, capacity?: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-asleep-'));
  try {
    await measure(`${home}, runs begun`, 'begun', { folder, store, capacity });
    await measure(`${home}, runs found`, 'found', { folder, store, capacity });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const floor = mkdtempSync(join(tmpdir(), 'telltale-bench-asleep-'));
  try {
    await measure(`${home}, runs that end at once`, 'ended', { folder: floor, store, capacity });
  } finally {
    rmSync(floor, { recursive: true, force: true });
  }
}

async function measure(
  name: string,
  from: AsleepOptions['from'],
  { folder, store, capacity }: { folder: string; store: string; capacity: number | undefined },
): Promise<void> {
  process.stderr.write(`${name}\n`);
  const given: AsleepOptions = {
    folder,
    store,
    runs,
    seconds,
    from,
    ...(capacity === undefined ? {} : { capacity }),
  };
  const found = (await runNode(['--expose-gc', CHILD, JSON.stringify(given)])) as AsleepFigures;
  figures.push({ name, from, ...found });
}

function report(): void {
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), runs, seconds, figures }, null, 2));
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${runs} workflows of one process, each waiting for a day; ${seconds} s of that are watched.\n`,
  );
  console.log(
    table(
      ['', 's until all sleep', 'CPU s', 'MiB of the heap', 'MiB the process grew by', '% of a core asleep'],
      figures.map(({ name, from, ms, cpuMs, heapMiB, rssMiB, cpuShare }) => [
        name,
        figure(ms / 1_000),
        figure(cpuMs / 1_000),
        figure(heapMiB),
        figure(rssMiB),
        from === 'ended' ? '–' : figure(cpuShare * 100),
      ]),
    ),
  );
}
