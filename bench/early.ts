import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { judgeEarly, measureActionStart } from './agents/action-start.ts';
import { quantile } from './agents/quantile.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- early [options]
  --actions N     actions to time (1000)
  --handicap MS   each tool starts this much later: shows that the target can be missed
  --no-fail       print the target, but exit with 0 when it is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    actions: { type: 'string', default: '1000' },
    handicap: { type: 'string', default: '0' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [actions, handicapMs] = [Number(options.actions), Number(options.handicap)];
if (options.help || !(Number.isInteger(actions) && actions > 0 && handicapMs >= 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-early-'));
try {
  process.stderr.write(`${actions} actions\n`);
  const figures = await measureActionStart(folder, actions, handicapMs);
  const verdicts = judgeEarly(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
  } else {
    const row = (name: string, values: readonly number[]) => [
      name,
      ...[0.5, 0.9, 0.99].map((part) => figure(quantile(values, part))),
    ];
    console.log(`\n${describeMachine()}`);
    console.log(`${actions} actions, durability power; milliseconds of wall time.\n`);
    console.log(
      table(
        ['', 'p50', 'p90', 'p99'],
        [row('a bare commit', figures.commits), row('closing tag to the tool’s first line', figures.starts)],
      ),
    );
    process.exitCode = printVerdicts(verdicts, options['no-fail']);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
