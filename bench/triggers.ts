import { parseArgs } from 'node:util';
import { installPeers } from './agents/install-peers.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { type Contestant, createNaive, createOurs, createPeer } from './triggers/contestants.ts';
import { createScenario, type Scenario } from './triggers/scenario.ts';
import { judgeTriggers, type TriggerFigures } from './triggers/targets.ts';

const USAGE = `npm run bench -- triggers [options]
  --no-peers      leave json-rules-engine out
  --handicap N    ours looks at each change N times: shows that a slow index misses the targets
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    'no-peers': { type: 'boolean', default: false },
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

const SIZES = [1_000, 10_000];
const ROUNDS = 7;
const CHANGES = 40_000;
/** Changes of a round, by contestant: about as long for each, and the peer's few are dear enough. */
const OURS_EACH = 4_000;
const NAIVE_EACH = 40;
const PEER_EACH = 1;
/** Of ours and the loop, a quarter in front of each round is not counted: it finds the caches as the neighbour left them. */
const UNCOUNTED = 0.25;
/** One contestant on its way through the changes. */
interface Runner {
  readonly contestant: Contestant;
  readonly each: number;
  at: number;
  readonly entered: (readonly number[])[];
  readonly us: number[];
}

async function runOn(runner: Runner, { changes }: Scenario, times: number) {
  const { contestant, each, entered, us } = runner;
  const uncounted = Math.floor(each * UNCOUNTED);
  let before = process.cpuUsage();
  for (let n = 0; n < each; n++) {
    if (n === uncounted) before = process.cpuUsage();
    const { name, value } = changes[runner.at++ % changes.length] as Scenario['changes'][number];
    const made = contestant.change(name, value);
    entered.push('then' in made ? await made : made);
    for (let again = 1; again < times; again++) {
      contestant.change(name, `${again}`);
      contestant.change(name, value);
    }
  }
  const { user, system } = process.cpuUsage(before);
  us.push((user + system) / (each - uncounted));
}

async function measure(triggers: number): Promise<TriggerFigures> {
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
  const peer = options['no-peers'] ? undefined : runner(await createPeer(scenario), PEER_EACH);
  const runners = [ours, naive, ...(peer === undefined ? [] : [peer])];
  for (const { contestant } of runners) await contestant.begin(scenario.first);
  for (let round = 0; round <= ROUNDS; round++) {
    process.stderr.write(`${triggers} triggers, round ${round} of ${ROUNDS}\n`);
    for (const each of runners) await runOn(each, scenario, each === ours ? handicap : 1);
  }
  for (const { contestant, entered } of runners.slice(1))
    for (const [place, made] of entered.entries())
      if (handicap === 1 && JSON.stringify(made) !== JSON.stringify(ours.entered[place])) {
        console.error(
          `✗ ${contestant.name} fires ${made} at change ${place}, telltale ${ours.entered[place]}.`,
        );
        process.exit(1);
      }
  const figureOf = ({ us }: Runner) => median(us.slice(1)); // the first round warms up
  return {
    triggers,
    fired: ours.entered.flat().length / ours.entered.length,
    ours: figureOf(ours),
    naive: figureOf(naive),
    peer: peer === undefined ? undefined : figureOf(peer),
  };
}

if (!options['no-peers']) await installPeers((line) => process.stderr.write(`${line}\n`));
const figures: TriggerFigures[] = [];
for (const triggers of SIZES) figures.push(await measure(triggers));
const verdicts = judgeTriggers(figures);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), figures, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  console.log(`\n${describeMachine()}`);
  console.log(
    `One field of 32 changes, three conditions a trigger; µs of CPU time a change, median of ${ROUNDS} rounds. All fire the same triggers.\n`,
  );
  console.log(
    table(
      ['triggers', 'fired a change', 'telltale', 'naive loop', 'times', 'json-rules-engine 7', 'times'],
      figures.map(({ triggers, fired, ours, naive, peer }) => [
        triggers.toLocaleString('en-US'),
        figure(fired),
        figure(ours),
        figure(naive),
        figure(naive / ours),
        peer === undefined ? '–' : figure(peer),
        peer === undefined ? '–' : figure(peer / ours),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
