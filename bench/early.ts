import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureActionStart } from './agents/action-start.ts';
import { type EarlyFigures, judgeEarly, startsInTime, turnLag } from './agents/early-targets.ts';
import { chainLag, runEarlyTurns } from './agents/early-turn.ts';
import { quantile } from './agents/quantile.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- early [options]
  --actions N     starts that are timed (500); where they are too late, three times as many count instead
  --runs N        turns of each kind (10; 3 with --full)
  --full          50 tokens a second for 4 s and tools of 1 s, not a tenth of it
  --handicap MS   each tool starts so many milliseconds late: shows that the targets can be missed
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    actions: { type: 'string', default: '500' },
    runs: { type: 'string' },
    full: { type: 'boolean', default: false },
    handicap: { type: 'string', default: '0' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const actions = Number(options.actions);
const runs = Number(options.runs ?? (options.full ? 3 : 10));
const handicapMs = Number(options.handicap);
const scale = options.full ? 1 : 0.1;
const good = [actions, runs].every((n) => Number.isInteger(n) && n > 0) && handicapMs >= 0;
if (options.help || !good) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const root = mkdtempSync(join(tmpdir(), 'telltale-bench-early-'));
const folder = () => mkdtempSync(join(root, 'agent-'));
const progress = (line: string) => process.stderr.write(`${line}\n`);
try {
  progress(`${actions} starts of an action`);
  let start = await measureActionStart(folder(), actions, handicapMs);
  if (!startsInTime(start)) {
    progress(`too late: ${3 * actions} more, which count instead`);
    start = await measureActionStart(folder(), 3 * actions, handicapMs);
  }
  const turns: NonNullable<EarlyFigures['turns']>[number][] = [];
  for (const chain of [1, 3]) {
    progress(`${runs} turns with ${chain} ${chain === 1 ? 'tool' : 'tools in a chain'}`);
    turns.push({ chain, taken: await runEarlyTurns(folder(), { chain, scale }, runs, handicapMs) });
  }
  report({ start, turns });
} finally {
  rmSync(root, { recursive: true, force: true });
}

function report(figures: EarlyFigures): void {
  const verdicts = judgeEarly(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), scale, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    'Milliseconds of wall time, durability power, a target that may not be run twice: its intent is committed before its first line.\n',
  );
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[0.5, 0.9, 0.99].map((part) => figure(quantile(values, part))),
    figure(Math.max(...values)),
  ];
  const rows: string[][] = [];
  if (figures.start !== undefined) {
    const { commits, starts, unwarmed = [] } = figures.start;
    rows.push(row('a bare commit', commits), row('closing tag to the tool’s first line', starts));
    if (unwarmed.length > 0) rows.push(row(`the same, first ${unwarmed.length} of the process`, unwarmed));
  }
  for (const { chain, taken } of figures.turns ?? []) {
    const what = chain === 1 ? 'one tool' : `chain of ${chain}`;
    rows.push(row(`${what}: last result later than ideal`, taken.map(chainLag)));
    rows.push(row(`${what}: end of the turn later than ideal`, taken.map(turnLag)));
  }
  console.log(table(['', 'p50', 'p90', 'p99', 'worst'], rows));
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
