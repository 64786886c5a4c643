import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ChildFigures, judgeChildren } from './agents/child-targets.ts';
import { quantile } from './agents/quantile.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';

const USAGE = `npm run bench -- children [options]
  --runs N        sub-agents that are started (2000)
  --handicap MS   each sub-agent begins so much later: shows that a slow start misses the target
  --no-fail       print the targets, but end with 0 when one is missed
  --json          machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    handicap: { type: 'string', default: '0' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, handicap] = [options.runs, options.handicap].map(Number) as [number, number];
if (options.help || !(Number.isInteger(runs) && runs > 0) || !(handicap >= 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

/** The built package, as a program has it. */
const BUILT = import.meta.resolve('telltale');
const WARM_UP = 300;
const ROUNDS = 5;

const root = mkdtempSync(join(tmpdir(), 'telltale-bench-children-'));
try {
  const figures: ChildFigures[] = [];
  for (const store of ['memory', 'durable'] as const) {
    process.stderr.write(`sub-agents, ${store === 'memory' ? 'in memory' : 'durable'}\n`);
    figures.push(await measure(store));
  }
  report(figures);
} finally {
  rmSync(root, { recursive: true, force: true });
}

/**
 * From the closing tag of the action that calls the sub-agent to the first request of the sub-agent's model. The floor
 * is a session that nobody calls: from `runtime.start` to its first request, in turns with the others.
 */
async function measure(store: 'memory' | 'durable'): Promise<ChildFigures> {
  const { createRuntime, loadAgent } = (await import(BUILT)) as typeof import('../telltale/src/index.ts');
  const folder = join(root, store);
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'agents.yml'),
    `kind: Agent
name: lead
model: scripted:none.yml
instructions: Hand on what is asked.
import: { agents: [./helper.yml] }
limits: { turns: 1000000, parallel_actions: 1 }
`,
  );
  writeFileSync(
    join(folder, 'helper.yml'),
    'kind: Agent\nname: helper\ndescription: Answers.\ninstructions: Answer briefly.\n',
  );
  const agent = await loadAgent('agents.yml', { cwd: folder });
  const alone = await loadAgent('helper.yml', { cwd: folder });
  const runtime = await createRuntime({
    store: store === 'memory' ? 'memory' : `sqlite:${join(folder, 'log.db')}`,
    cwd: folder,
  });
  const starts: number[] = [];
  const plain: number[] = [];
  let closed = 0;
  /** One for both: what a sub-agent without a model of its own runs on is its caller's. */
  const model = {
    id: 'fake',
    async stream(
      { system, turn }: { readonly system: string; readonly turn: number },
      sink: { text(delta: string): void },
    ) {
      if (!system.startsWith('Hand on')) {
        if (handicap > 0) await new Promise((resolve) => setTimeout(resolve, handicap));
        starts.push(performance.now() - closed);
        sink.text('<response>Done.</response>');
      } else if (turn === 1) {
        sink.text('<action id="a" type="agent">{"name":"helper","parameters":{"input":"Go."}}');
        closed = performance.now();
        sink.text('</action>');
      } else sink.text('<response>All done.</response>');
      return { finish: 'stop' as const, usage: { input: 1, output: 1 } };
    },
  };
  const run = async (which: typeof agent) => {
    const { status, error } = await runtime.start(which, { input: 'Go.', model }).result;
    if (status !== 'completed') throw new Error(`A session ended as ${status}: ${error?.message}`);
  };
  const runAlone = async () => {
    closed = performance.now();
    await run(alone);
    plain.push(starts.pop() ?? Number.NaN);
  };
  for (let n = 0; n < WARM_UP; n += 1) {
    await run(agent);
    await runAlone();
  }
  starts.length = 0;
  plain.length = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let n = 0; n < Math.ceil(runs / ROUNDS); n += 1) await run(agent);
    for (let n = 0; n < Math.ceil(runs / ROUNDS); n += 1) await runAlone();
  }
  await runtime.close();
  return {
    store,
    startMs: quantile(starts, 0.5),
    lateMs: quantile(starts, 0.99),
    plainMs: quantile(plain, 0.5),
  };
}

function report(figures: readonly ChildFigures[]): void {
  const verdicts = judgeChildren(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), runs, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${runs} sub-agents, one after another: from the end of the action that calls one to the first request of its model, ms of wall time.\n`,
  );
  console.log(
    table(
      ['', 'sub-agent, median', 'p99', 'a session of its own, median'],
      figures.map(({ store, startMs, lateMs, plainMs }) => [
        store === 'memory' ? 'in memory' : 'durable',
        figure(startMs),
        figure(lateMs),
        figure(plainMs),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
