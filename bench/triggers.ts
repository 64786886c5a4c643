import { parseArgs } from 'node:util';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { type Contestant, createNaive, createOurs } from './triggers/contestants.ts';
import { createScenario, type Scenario } from './triggers/scenario.ts';
import { JUDGED_AT, judgeTriggers, type TriggerFigures } from './triggers/targets.ts';

const USAGE = `npm run bench -- triggers [options]
  --handicap N    ours looks at each change N times: shows that a slow index misses the target
  --no-fail       print the target, but exit with 0 when it is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    handicap: { type: 'string', default: '1' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const handicap = Number(options.handicap);
if (options.help || !(Number.isInteger(handicap) && handicap > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const SIZES = [1_000, JUDGED_AT];
const ROUNDS = 7;
const CHANGES = 40_000;
/** Changes of a round, by contestant. */
const OURS_EACH = 4_000;
const NAIVE_EACH = 40;
/** This part of a round is not counted: it runs with the caches that the other contestant left behind. */
const UNCOUNTED = 0.25;
interface Runner {
  readonly contestant: Contestant;
  readonly each: number;
  at: number;
  readonly entered: (readonly number[])[];
  readonly us: number[];
}

function runOn(runner: Runner, { changes }: Scenario, times: number): void {
  const { contestant, each, entered, us } = runner;
  const uncounted = Math.floor(each * UNCOUNTED);
  let before = process.cpuUsage();
  for (let n = 0; n < each; n++) {
    if (n === uncounted) before = process.cpuUsage();
    const { name, value } = changes[runner.at++ % changes.length] as Scenario['changes'][number];
    entered.push(contestant.change(name, value));
    for (let again = 1; again < times; again++) {
      contestant.change(name, `${again}`);
      contestant.change(name, value);
    }
  }
  const { user, system } = process.cpuUsage(before);
  us.push((user + system) / (each - uncounted));
}

function measure(triggers: number): TriggerFigures {
  const scenario = createScenario(triggers, CHANGES);
  const runner = (contestant: Contestant, each: number): Runner => ({
    contestant,
    each,
    at: 0,
    entered: [],
    us: [],
  });
  const ours = runner(createOurs(scenario), OURS_EACH);
  const naive = runner(createNaive(scenario), NAIVE_EACH);
  const runners = [ours, naive];
  for (const { contestant } of runners) contestant.begin(scenario.first);
  for (let round = 0; round <= ROUNDS; round++) {
    process.stderr.write(`${triggers} triggers, round ${round} of ${ROUNDS}\n`);
    for (const each of runners) runOn(each, scenario, each === ours ? handicap : 1);
  }
  for (const [place, made] of naive.entered.entries())
    if (handicap === 1 && JSON.stringify(made) !== JSON.stringify(ours.entered[place])) {
      console.error(`✗ The loop fires ${made} at change ${place}, telltale ${ours.entered[place]}.`);
      process.exit(1);
    }
  const figureOf = ({ us }: Runner) => median(us.slice(1)); // the first round warms up
  return {
    triggers,
    fired: ours.entered.flat().length / ours.entered.length,
    ours: figureOf(ours),
    naive: figureOf(naive),
  };
}

const figures = SIZES.map(measure);
const verdicts = judgeTriggers(figures);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), figures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  console.log(`\n${describeMachine()}`);
  console.log(
    `One field of 32 changes, three conditions per trigger; µs of CPU time per change, median of ${ROUNDS} rounds. Both fire the same triggers.\n`,
  );
  console.log(
    table(
      ['triggers', 'fired a change', 'telltale', 'naive loop', 'times'],
      figures.map(({ triggers, fired, ours, naive }) => [
        triggers.toLocaleString('en-US'),
        figure(fired),
        figure(ours),
        figure(naive),
        figure(naive / ours),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
