import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { quantile } from './agents/quantile.ts';
import { atMost, exitCode, printVerdicts, type Verdict } from './agents/verdict.ts';
import { callHandler, callOverStdio } from './mcp/callers.ts';
import { STEPS, workThrough, writeProject } from './mcp/scenario.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { createBareLoop } from './storing/bare-loop.ts';
import { createOurs } from './storing/telltale.ts';

const USAGE = `npm run bench -- mcp [options]
  --runs N      workflows of ${STEPS} steps that are worked through in a round, each way (10)
  --rounds N    rounds; each contestant has its turn in each (7)
  --no-fail     print the targets, but end with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '7' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, rounds] = [options.runs, options.rounds].map(Number) as [number, number];
if (options.help || ![runs, rounds].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

/** Milliseconds, by round. */
type Figures = readonly (readonly number[])[];

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-mcp-'));
try {
  writeProject(folder);
  await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const bare = createBareLoop(join(folder, 'bare.db'), 1);
  const store = await createOurs(join(folder, 'store.db'), 1);
  const handler = await callHandler(folder);
  const stdio = await callOverStdio(folder);
  const through = async (caller: typeof handler) => {
    const took: number[] = [];
    for (let n = 0; n < runs; n++) took.push(...(await workThrough(caller)));
    return took;
  };
  const contestants: readonly (readonly [string, () => Promise<readonly number[]>])[] = [
    ['a bare durable commit', () => bare.alone(runs * STEPS)],
    ['a commit of our store', () => store.alone(runs * STEPS)],
    ['continue_workflow, the handler', () => through(handler)],
    ['continue_workflow, a client over stdio', () => through(stdio)],
  ];
  const figures = new Map<string, (readonly number[])[]>(contestants.map(([name]) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of contestants) {
      const took = await run();
      if (round > 0) figures.get(name)?.push(took);
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  for (const each of [bare, store, handler, stdio]) await each.close();
  report(figures);
}

/** The median over the rounds: one bad moment of the machine does not decide. */
function overRounds(figures: Figures, part: number): number {
  return median(figures.map((took) => quantile(took, part)));
}

function report(found: ReadonlyMap<string, Figures>): void {
  const [bare, store, handler, stdio] = [...found.values()] as [Figures, Figures, Figures, Figures];
  const times = (figures: Figures, part: number) => overRounds(figures, part) / overRounds(bare, part);
  const verdicts: readonly Verdict[] = [
    atMost('the handler’s median at most 8 times a bare durable commit', times(handler, 0.5), 8, '×'),
    atMost(
      'the handler’s median at most 5 times a commit of our store',
      overRounds(handler, 0.5) / overRounds(store, 0.5),
      5,
      '×',
    ),
    atMost('the handler’s p99 at most 3 ms', overRounds(handler, 0.99), 3, 'ms', false),
    atMost('over stdio p99 at most 6 ms', overRounds(stdio, 0.99), 6, 'ms', false),
  ];
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), figures: [...found], verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${runs} workflows of ${STEPS} tasks a round, one after another, durability power: each answer after the claim and the next step are on disk. ms, medians of ${rounds} rounds.\n`,
  );
  console.log(
    table(
      ['', 'p50', 'p99', '÷ bare commit, p50', 'p99'],
      [...found].map(([name, figures]) => [
        name,
        figure(overRounds(figures, 0.5)),
        figure(overRounds(figures, 0.99)),
        figure(times(figures, 0.5)),
        figure(times(figures, 0.99)),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
