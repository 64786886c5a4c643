import { parseArgs } from 'node:util';
import { type Entrant, FIELD, OURS, OURS_DURABLE } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import type { HeldMemory, LoadOptions } from './agents/measurements.ts';
import { runChild } from './agents/run-child.ts';
import { type AgentFigures, judgeAgent } from './agents/targets.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const MEASUREMENTS = ['steps', 'memory'] as const;
type Measurement = (typeof MEASUREMENTS)[number];

const USAGE = `npm run bench -- agent [options]
  --only LIST     of ${MEASUREMENTS.join(', ')} (both)
  --with LIST     peers whose name contains one of these words; ours always run
  --no-peers      ours alone: nothing is installed, nothing is judged
  --runs N        samples of each contestant (5; peers have 3)
  --sessions N    sessions at once (100)
  --steps N       steps of each session (10)
  --handicap N    ours does its work N times: shows that a slower runtime misses the targets
  --no-fail       print the targets, but exit with 0 when one is missed
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

/** A session calls much of its code only once, so compiling it takes this long. */
const WARM_UP_MS = 10_000;
const words = options.with.split(',').filter((word) => word !== '');
const field = FIELD.filter(
  ({ isPeer, name }) =>
    !isPeer || (!options['no-peers'] && (words.length === 0 || words.some((word) => name.includes(word)))),
);

if (field.some(({ isPeer }) => isPeer)) {
  try {
    await installPeers(progress);
  } catch (error) {
    process.stderr.write(`✗ ${(error as Error).message}\n`);
    process.exit(1);
  }
}

const failures: string[] = [];
const figures: AgentFigures[] = [];
for (const entrant of field) figures.push(await examine(entrant));
const verdicts = judgeAgent(figures);
const setting = { machine: describeMachine(), runs, sessions, steps, handicap };
if (options.json) {
  console.log(JSON.stringify({ ...setting, figures, failures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  report();
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
if (failures.length > 0) process.exitCode = 1;

async function examine({ name, file, isPeer }: Entrant): Promise<AgentFigures> {
  const load: LoadOptions = {
    sessions,
    steps,
    held: 1000,
    rounds: isPeer ? Math.min(runs, 3) : runs,
    sampleMs: isPeer ? 100 : 400,
    warmUpMs: WARM_UP_MS,
    handicap: isPeer ? 1 : handicap,
  };
  const take = async <Figures>(what: string, measurement: string): Promise<Figures | undefined> => {
    progress(`${name}: ${what}`);
    try {
      return (await runChild(file, measurement, load)) as Figures;
    } catch (error) {
      failures.push(`${name}, ${what}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const samples = does('steps') ? await take<readonly number[]>('steps', 'steps') : undefined;
  const held = does('memory') ? await take<HeldMemory>('1,000 sessions in mid-turn', 'held') : undefined;
  return {
    name,
    isPeer,
    ...(samples === undefined ? {} : { steps: samples }),
    ...(held === undefined ? {} : { held }),
  };
}

function report(): void {
  console.log(`\n${setting.machine}`);
  console.log(
    `${sessions} sessions at once, ${steps} steps each; each contestant in its own process, one after another. Medians of ${runs} samples (peers ${Math.min(runs, 3)}), CPU time of all threads.\n`,
  );
  const [memory, durable] = [OURS, OURS_DURABLE].map((ours) => figures.find(({ name }) => name === ours));
  const step = ({ steps: samples }: AgentFigures) => (samples === undefined ? '–' : figure(median(samples)));
  const ratio = (ours: AgentFigures | undefined, { steps: samples }: AgentFigures) =>
    ours?.steps === undefined || samples === undefined ? '–' : figure(median(ours.steps) / median(samples));
  console.log(
    table(
      ['', 'a step, µs', 'ours in memory ÷ it', 'ours durable ÷ it', 'MB per 1,000 held'],
      figures.map((each) => [
        each.name,
        step(each),
        ratio(memory, each),
        ratio(durable, each),
        each.held === undefined ? '–' : figure(each.held.heapMb),
      ]),
    ),
  );
  for (const failure of failures) console.log(`\n✗ ${failure}`);
}
