import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureRecovery, measureStretches, type Recovery } from './agents/growth.ts';
import { type GrowthFigures, judgeGrowth, perEvent, staysFlat } from './agents/growth-targets.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- growth [options]
  --turns N      turns of the long session (10000)
  --stretch N    turns of a stretch (1000)
  --runs N       recoveries of each log (5)
  --handicap     each turn looks at all turns before it: shows that growth is found out
  --no-fail      print the targets, but end with 0 when one is missed
  --json         machine-readable output`;

const { values: options } = parseArgs({
  options: {
    turns: { type: 'string', default: '10000' },
    stretch: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '5' },
    handicap: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [turns, stretch, runs] = [options.turns, options.stretch, options.runs].map(Number) as [
  number,
  number,
  number,
];
if (options.help || ![turns, stretch, runs].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const WARM_UP_TURNS = 5000;
/** Turns of the logs that are recovered, each four times as long as the one before. */
const LOGS = [Math.ceil(turns / 20), Math.ceil(turns / 5), Math.ceil((turns * 4) / 5)];

const root = mkdtempSync(join(tmpdir(), 'telltale-bench-growth-'));
const folder = () => mkdtempSync(join(root, 'agent-'));
const progress = (line: string) => process.stderr.write(`${line}\n`);
try {
  progress(`a session of ${turns} turns`);
  const measure = () => measureStretches(folder(), turns, stretch, options.handicap ? lookBack() : () => {});
  // Of its own: what is compiled late would make the second stretch dear and hide a growth.
  await measureStretches(folder(), Math.min(turns, WARM_UP_TURNS), stretch, () => {});
  let stretches = await measure();
  if (!staysFlat(stretches)) {
    progress('it grows: another session, which counts instead');
    stretches = await measure();
  }
  progress('recovery: warming up');
  await measureRecovery(folder(), LOGS[0]!, runs);
  const recoveries: (readonly Recovery[])[] = [];
  for (const length of LOGS) {
    progress(`recovery after ${length} turns`);
    recoveries.push(await measureRecovery(folder(), length, runs));
  }
  report({ stretches, recoveries });
} finally {
  rmSync(root, { recursive: true, force: true });
}

/** Looks at every turn so far, some nanoseconds each. */
function lookBack(): (turn: number) => void {
  const seen: string[] = [];
  return (turn) => {
    seen.push(`turn ${turn}`);
    if (seen.join('').length === 0) throw new Error('There is no turn.');
  };
}

function report(figures: GrowthFigures): void {
  const verdicts = judgeGrowth(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), ...figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    'One session, a step with one tool each turn, log in SQLite (durability process); CPU time of all threads. The model is not sent anything, so a request is not serialised.\n',
  );
  console.log(
    table(
      ['turns', 'µs a turn', 'heap, MB'],
      figures.stretches.map(({ turn, cpuUs, heapMb }) => [
        `${turn - stretch + 1}–${turn}`,
        figure(cpuUs),
        figure(heapMb),
      ]),
    ),
  );
  console.log('\nTaking a session over, from the call to the next request to the model:\n');
  console.log(
    table(
      ['turns', 'events', 'CPU, ms', 'wall, ms', 'µs an event'],
      figures.recoveries.map((taken) => [
        String(taken[0]?.turns),
        figure(taken[0]?.events ?? 0),
        figure(median(taken.map(({ cpuMs }) => cpuMs))),
        figure(median(taken.map(({ wallMs }) => wallMs))),
        figure(perEvent(taken)),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
