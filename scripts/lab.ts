// `npm run lab [-- fleet|sqlite|sessions|workflows|properties|models] [--seed N] …`: longer searches for defects than the tests
// have time for. `--help` says the rest. The tests do the same, with fewer faults.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { LabRound } from '../telltale/test/lab/lab-round.ts';
import type { HomeKind } from '../telltale/test/lab/plan-faults.ts';
import { spendFaults, spentText } from '../telltale/test/lab/spend-faults.ts';
import { survivesCrash, undisturbedRun } from '../telltale/test/recovery/crash-run.ts';
import { killUntil } from '../telltale/test/recovery/kill-run.ts';
import { killWorkflowsUntil } from '../telltale/test/recovery/workflow-kill-run.ts';
import { createScratch, runTests } from './check/stages.ts';
import { tryModels } from './lab/models.ts';
import { filesWithProperties, searchSeeds } from './lab/properties.ts';

const HELP = `npm run lab -- [WHAT] [options]

  fleet       processes over one PostgreSQL: killed, stopped, cut off, slowed down, their clocks set, the database restarted
  sqlite      processes on one SQLite file: killed, stopped, their clocks set, the disk full, the file locked
  sessions    one session a process, killed again and again
  workflows   one run a process, killed again and again
              without WHAT: all of the above, 800 faults, about ten minutes
  properties  every random test, with one seed after the other; words behind it name test files: properties scheduler
  models      tasks worked on by simulated models that make every mistake weaker models make, in every dialect, over the
              wire formats of the providers. Prints a table for each dialect

  --seed N      plans the same faults again; drawn by chance, and printed, where it is not given
  --faults N    of fleet and sqlite
  --workers N   of fleet and sqlite: processes at once
  --kills N     of sessions and workflows
  --seconds N   of properties and models: begin no round after this time (600, 1800)
  --points      sessions kill themselves at every named point of the runtime instead
  --quiet       no line for each fault
  --pairs N     of models: pairs of mistakes for each dialect (100)
  --dialect NAME, --task NAME, --provider NAME, --mistake NAME
                of models: only these, each a name or several with commas between them. --mistake NAME@TURN makes it in
                that turn of one run, --mistake NAME@TURN,NAME@TURN makes both; --mistake none makes no mistake

Checked from a journal that tools keep outside of the store, and from the logs: nothing is lost, done twice or out of
order. A round in which something is wrong keeps its folder, and says how to see it again. The exit code is 1 then.`;

const SIDE_BY_SIDE = 2;
/** Of a run of everything. */
const KILLS = { sessions: 300, workflows: 60 } as const;
const FAULTS: Readonly<Record<HomeKind, number>> = { postgres: 320, sqlite: 120 };
const WORKERS = 3;

const {
  values,
  positionals: [only, ...filters],
} = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string' },
    faults: { type: 'string' },
    workers: { type: 'string', default: String(WORKERS) },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    seconds: { type: 'string' },
    pairs: { type: 'string' },
    dialect: { type: 'string' },
    task: { type: 'string' },
    provider: { type: 'string' },
    mistake: { type: 'string' },
    points: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

interface Survived {
  readonly seed: number;
  readonly kills: number;
  readonly events: number;
  readonly rerun: number;
  readonly interrupted: readonly string[];
}

async function killSessions(): Promise<void> {
  const { seed, kills } = plan(KILLS.sessions);
  console.log(`sessions: ${kills} kills, seed ${seed}`);
  const started = performance.now();
  const runs = await killUntil({ seed, kills, sideBySide: SIDE_BY_SIDE, onRun: show(kills) });
  summarize(runs, started, 'sessions', 'actions');
}

async function killWorkflows(): Promise<void> {
  const { seed, kills } = plan(KILLS.workflows);
  console.log(`workflows: ${kills} kills, seed ${seed}`);
  const started = performance.now();
  const runs = await killWorkflowsUntil({ seed, kills, sideBySide: SIDE_BY_SIDE, onRun: show(kills) });
  summarize(runs, started, 'workflow runs', 'steps');
}

function plan(kills: number): { readonly seed: number; readonly kills: number } {
  return { seed: Number(values.seed), kills: values.kills === undefined ? kills : Number(values.kills) };
}

const show = (kills: number) => (run: Survived, soFar: number) => {
  const lost = run.interrupted.length === 0 ? '' : `, interrupted ${run.interrupted.join(' ')}`;
  console.log(
    `${soFar}/${kills}  seed ${run.seed}: ${run.kills} kills, ${run.events} events, ${run.rerun} run again${lost}`,
  );
};

function summarize(runs: readonly Survived[], started: number, what: string, parts: string): void {
  const sum = (of: (run: Survived) => number) => runs.reduce((all, run) => all + of(run), 0);
  console.log(
    [
      `${sum(({ kills: each }) => each)} kills in ${runs.length} ${what} survived, ${((performance.now() - started) / 1000).toFixed(0)} s:`,
      `  ${sum(({ events }) => events)} events, none lost`,
      `  ${sum(({ rerun }) => rerun)} idempotent ${parts} run again, no other and none that had completed`,
      `  ${sum(({ interrupted }) => interrupted.length)} ${parts} interrupted, ${runs.filter(({ interrupted }) => interrupted.length === 0).length} ${what} with the very same result as one that was left alone`,
    ].join('\n'),
  );
}

async function killAtPoints(): Promise<void> {
  const undisturbed = await undisturbedRun();
  const times = new Map<string, number>();
  for (const point of undisturbed.points) times.set(point, (times.get(point) ?? 0) + 1);
  const left = [...times].flatMap(([point, count]) =>
    Array.from({ length: count }, (_, n) => [point, n + 1] as const),
  );
  const all = left.length;
  let wrong = 0;
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const why = await survivesCrash(...next, undisturbed);
      if (why !== undefined) wrong++;
      console.log(`${all - left.length}/${all}  ${next.join(' ')}: ${why ?? 'survived'}`);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  console.log(`${all - wrong} of ${all} points survived.`);
  if (wrong > 0) process.exitCode = 1;
}

async function tryProperties(): Promise<void> {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const seed = wholeNumber('seed', values.seed);
  const seconds = wholeNumber('seconds', values.seconds ?? '600');
  const files = filesWithProperties(root, filters);
  if (files.length === 0) throw new Error(`No test file with properties matches ${filters.join(' ')}.`);
  const scratch = createScratch();
  console.log(`properties: ${files.length} test files, ${seconds} s, first seed ${seed}`);
  const { failed } = await searchSeeds({
    seed,
    seconds,
    now: () => performance.now(),
    print: (line) => console.log(line),
    runWith: (each) => runTests({ root, scratch, update: false, seed: each, filters: files }, 'unit'),
  });
  if (failed > 0) process.exitCode = 1;
}

async function simulateModels(): Promise<void> {
  const { dialect, task, provider, mistake } = values;
  const isWell = await tryModels({
    seed: wholeNumber('seed', values.seed),
    seconds: wholeNumber('seconds', values.seconds ?? '1800'),
    pairs: wholeNumber('pairs', values.pairs ?? '100'),
    dialect,
    task,
    provider,
    mistake,
    print: (line) => console.log(line),
  });
  if (!isWell) process.exitCode = 1;
}

/** The rounds that were gone through, of all homes. */
const rounds: LabRound[] = [];

async function giveFaults(home: HomeKind): Promise<void> {
  const seed = wholeNumber('seed', values.seed);
  const faults = values.faults === undefined ? FAULTS[home] : wholeNumber('faults', values.faults);
  const workers = wholeNumber('workers', values.workers);
  console.log(
    `${home === 'postgres' ? 'fleet' : home}: ${faults} faults, ${workers} processes, seed ${seed}`,
  );
  const spent = await spendFaults({
    home,
    seed,
    faults,
    workers,
    print: (line) => {
      if (!values.quiet || !line.startsWith('  ')) console.log(line);
    },
  });
  rounds.push(...spent.rounds);
  if (spent.failed.length > 0) process.exitCode = 1;
}

function wholeNumber(option: string, value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`--${option} is "${value}". It must be a whole number.`);
  return Number(value);
}

const PARTS = new Map<string, () => Promise<void>>([
  ['sessions', values.points ? killAtPoints : killSessions],
  ['workflows', killWorkflows],
  ['sqlite', () => giveFaults('sqlite')],
  ['fleet', () => giveFaults('postgres')],
  ['properties', tryProperties],
  ['models', simulateModels],
]);
/** What runs where nothing is named. */
const CRASH_PARTS: ReadonlySet<string> = new Set(['sessions', 'workflows', 'sqlite', 'fleet']);

// Processes, servers and disks that the lab has started watch it, and end when it does.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

try {
  if (values.help) console.log(HELP);
  else {
    if (only !== undefined && !PARTS.has(only))
      throw new Error(`There is no "${only}" here: ${[...PARTS.keys()].join(', ')}. See --help.`);
    for (const [name, part] of PARTS)
      if (
        only === name ||
        (only === undefined && CRASH_PARTS.has(name) && (!values.points || name === 'sessions'))
      )
        await part();
    if (rounds.length > 0) console.log(spentText(rounds));
  }
} catch (thrown) {
  console.error(`✗ ${thrown instanceof Error ? thrown.message : thrown}`);
  process.exitCode = 1;
}
