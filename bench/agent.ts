import { parseArgs } from 'node:util';
import { type Entrant, FIELD, OURS, OURS_DURABLE, PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import type { HeldMemory, LoadOptions, UnitSample } from './agents/measurements.ts';
import { runChild, runNode } from './agents/run-child.ts';
import { type AgentFigures, askedOfPeers, cpuOf, judgeAgent } from './agents/targets.ts';
import type { ThroughputRound } from './agents/throughput.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const MEASUREMENTS = ['steps', 'deltas', 'memory', 'import', 'throughput'] as const;
type Measurement = (typeof MEASUREMENTS)[number];

const USAGE = `npm run bench -- agent [options]
  --only LIST     of ${MEASUREMENTS.join(', ')} (all)
  --with LIST     contestants whose name holds one of these words; ours always run
  --no-peers      ours alone: nothing is installed
  --runs N        samples of each contestant (5; peers have 3)
  --sessions N    sessions at once (100)
  --steps N       steps of each session (10)
  --handicap N    ours does its work N times: shows that a slower runtime misses the targets
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: MEASUREMENTS.join(',') },
    with: { type: 'string', default: '' },
    'no-peers': { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '100' },
    steps: { type: 'string', default: '10' },
    handicap: { type: 'string', default: '1' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const chosen = options.only.split(',').map((word) => word.trim());
const unknown = chosen.find((word) => !(MEASUREMENTS as readonly string[]).includes(word));
const [runs, sessions, steps, handicap] = [
  options.runs,
  options.sessions,
  options.steps,
  options.handicap,
].map(Number) as [number, number, number, number];
const badNumber = ![runs, sessions, steps, handicap].every((n) => Number.isInteger(n) && n > 0);
if (options.help || unknown !== undefined || badNumber) {
  if (unknown !== undefined) process.stderr.write(`There is no measurement "${unknown}".\n\n`);
  if (badNumber) process.stderr.write('The numbers must be whole and above zero.\n\n');
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}
const does = (measurement: Measurement) => chosen.includes(measurement);
const progress = (line: string) => process.stderr.write(`${line}\n`);

/** Until little is left to compile: after three seconds, much of what a session calls but once is not compiled yet. */
const WARM_UP_MS = 10_000;
const IMPORT_ROUNDS = 9;
const FIRST_ROUNDS = 3;
const words = options.with.split(',').filter((word) => word !== '');
const isOurs = ({ from }: Entrant) => from !== PEERS;
const field = FIELD.filter(
  (entrant) =>
    isOurs(entrant) ||
    (!options['no-peers'] && (words.length === 0 || words.some((word) => entrant.name.includes(word)))),
);

if (field.some((entrant) => !isOurs(entrant))) {
  try {
    await installPeers(progress);
  } catch (error) {
    process.stderr.write(`✗ ${(error as Error).message}\n`);
    process.exit(1);
  }
}

const failures: string[] = [];
const figures: AgentFigures[] = [];
const imports = does('import') ? await timeImports() : new Map<string, number[]>();
for (const entrant of field) figures.push(await examine(entrant));
const verdicts = judgeAgent(figures);
const setting = { machine: describeMachine(), runs, sessions, steps, handicap };
if (options.json) console.log(JSON.stringify({ ...setting, figures, failures, verdicts }, null, 2));
else report();
process.exitCode =
  failures.length > 0
    ? 1
    : options.json
      ? exitCode(verdicts, options['no-fail'])
      : printVerdicts(verdicts, options['no-fail']);

async function examine(entrant: Entrant): Promise<AgentFigures> {
  const ours = isOurs(entrant);
  const { isFloor = false } = entrant;
  const load: LoadOptions = {
    sessions,
    steps,
    deltas: 1000,
    held: 1000,
    rounds: ours ? runs : Math.min(runs, 3),
    sampleMs: ours ? 400 : 100,
    warmUpMs: WARM_UP_MS,
    handicap: ours && !isFloor ? handicap : 1,
  };
  const take = async <Figures>(name: string, measurement: string): Promise<Figures | undefined> => {
    progress(`${entrant.name}: ${name}`);
    try {
      return (await runChild(entrant.file, measurement, load)) as Figures;
    } catch (error) {
      failures.push(`${entrant.name}, ${name}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const taken: { -readonly [Key in keyof AgentFigures]?: AgentFigures[Key] | undefined } = {};
  if (does('steps')) taken.steps = await take<readonly UnitSample[]>('steps', 'steps');
  if (does('deltas')) taken.deltas = await take<readonly UnitSample[]>('deltas', 'deltas');
  if (does('memory') && !isFloor) taken.held = await take<HeldMemory>('1,000 sessions in mid-turn', 'held');
  if (does('throughput') && entrant.name === OURS_DURABLE)
    taken.throughput = await take<readonly ThroughputRound[]>('steps a second', 'throughput');
  if (does('import') && !isFloor) {
    taken.imports = imports.get(entrant.name);
    const firsts: number[] = [];
    for (let round = 0; round < FIRST_ROUNDS; round += 1) {
      const first = await take<{ sinceStartMs: number }>('first session of a process', 'first');
      if (first !== undefined) firsts.push(first.sinceStartMs);
    }
    taken.firsts = firsts.length > 0 ? firsts : undefined;
  }
  const known = Object.fromEntries(Object.entries(taken).filter(([, value]) => value !== undefined));
  return { name: entrant.name, ...known };
}

/** In turns, so that drift hits all alike. Ours is the built package, as a program imports it. */
async function timeImports(): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < IMPORT_ROUNDS; round += 1) {
    progress(`imports, round ${round + 1} of ${IMPORT_ROUNDS}`);
    for (const { name, entry, from } of field) {
      if (entry === undefined) continue;
      const code = `const started = performance.now(); await import(${JSON.stringify(entry)}); console.log(performance.now() - started); process.exit();`;
      const ms = (await runNode(['--input-type=module', '--eval', code], from)) as number;
      if (round > 0) times.set(name, [...(times.get(name) ?? []), ms]); // the first fills the disk's cache
    }
  }
  return times;
}

function report(): void {
  console.log(`\n${setting.machine}`);
  console.log(
    `${sessions} sessions at once, ${steps} steps each; each contestant in a process of its own, one after another. Medians of ${runs} samples (peers ${Math.min(runs, 3)}); µs are CPU time of all threads.\n`,
  );
  const own = figures.find(({ name }) => name === OURS_DURABLE) ?? figures.find(({ name }) => name === OURS);
  const cpu = (samples: readonly UnitSample[] | undefined) =>
    samples === undefined ? '–' : figure(cpuOf(samples));
  const to = (samples: readonly UnitSample[] | undefined, base: readonly UnitSample[] | undefined) =>
    samples === undefined || base === undefined ? '–' : figure(cpuOf(samples) / cpuOf(base));
  const mid = (values: readonly number[] | undefined) =>
    values === undefined ? '–' : figure(median(values));
  const head = [
    '',
    'a step, µs',
    '÷ ours, durable',
    'a delta, µs',
    '÷ ours, durable',
    'MB per 1,000 held',
    'RSS, MB',
    'import, ms',
    'first session, ms',
  ];
  const rows = figures.map((each) => [
    each.name,
    cpu(each.steps),
    to(each.steps, own?.steps),
    cpu(each.deltas),
    to(each.deltas, own?.deltas),
    each.held === undefined ? '–' : figure(each.held.heapMb),
    each.held === undefined ? '–' : figure(each.held.rssMb),
    mid(each.imports),
    mid(each.firsts),
  ]);
  console.log(table(head, rows));
  const rounds = own?.throughput;
  const perSecond = (pick: (round: ThroughputRound) => number) => figure(median(rounds?.map(pick) ?? []));
  if (rounds !== undefined)
    console.log(
      `\nSteps a second of wall time: ours, durable ${perSecond(({ ours }) => ours)}; bare group-commit loop of the same bytes ${perSecond(({ bare }) => bare)} (with a row for each event ${perSecond(({ bareByEvent }) => bareByEvent)}; on our store ${perSecond(({ bareOnStore }) => bareOnStore)}).`,
    );
  const asked = askedOfPeers(figures);
  if (asked.length > 0) console.log(`\n${asked.join('\n')}`);
  for (const failure of failures) console.log(`\n✗ ${failure}`);
}
