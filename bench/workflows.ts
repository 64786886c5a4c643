import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';
import type { ContestFigures } from './workflows/contestant.ts';
import { startRestate } from './workflows/start-restate.ts';
import { judgeWorkflows, OURS, stepsPerSecond, type WorkflowFigures } from './workflows/workflow-targets.ts';

const USAGE = `npm run bench -- workflows [options]
  --runs N      workflows to run at least, in five rounds of a second or more (1000)
  --steps N     steps of each (10)
  --at-once N   workflows at once (100)
  --no-peers    ours alone
  --no-fail     print the targets, but exit with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    steps: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '100' },
    'no-peers': { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, steps, atOnce] = [options.runs, options.steps, options['at-once']].map(Number) as [
  number,
  number,
  number,
];
if (options.help || ![runs, steps, atOnce].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const ROUNDS = 5;
const CHILD = fileURLToPath(new URL('./workflows/child.ts', import.meta.url));
const progress = (line: string) => void process.stderr.write(`${line}\n`);

const figures: WorkflowFigures[] = [];
await contest(OURS, fileURLToPath(new URL('./workflows/telltale.ts', import.meta.url)), false, {});
if (!options['no-peers']) await contestPeers();
report();

/** Each contestant has its own process: some peers are one instance per process. */
async function contest(name: string, file: string, isPeer: boolean, servers: object): Promise<void> {
  progress(name);
  const given = { runs, steps, atOnce, rounds: ROUNDS, ...servers };
  const found = (await runNode([CHILD, file, JSON.stringify(given)])) as ContestFigures;
  figures.push({ name, isPeer, ...found });
}

async function contestPeers(): Promise<void> {
  await installPeers(progress);
  for (const [name, file] of [
    ['openworkflow 0.10, PostgreSQL', 'openworkflow.js'],
    ['DBOS 5.3, PostgreSQL', 'dbos.js'],
  ] as const) {
    const postgres = await startPostgres({ durable: true });
    try {
      await contest(name, `${PEERS}/${file}`, true, { postgres: postgres.url });
    } finally {
      await postgres.stop();
    }
  }
  const restate = await startRestate();
  try {
    const { ingress, admin } = restate;
    await contest('Restate 1.7', `${PEERS}/restate.js`, true, { restate: { ingress, admin } });
  } finally {
    await restate.stop();
  }
}

function report(): void {
  const verdicts = judgeWorkflows(figures);
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), runs, steps, figures, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  const ours = stepsPerSecond(figures[0]!);
  console.log(`\n${describeMachine()}`);
  console.log(
    `Workflows of ${steps} steps, ${atOnce} at a time, every step on disk before the next begins.\n`,
  );
  console.log(
    table(
      ['', 'steps/s', 'low', 'high', 'ours ÷ it'],
      figures.map((each) => [
        each.name,
        figure(stepsPerSecond(each)),
        figure(Math.min(...each.perSecond)),
        figure(Math.max(...each.perSecond)),
        figure(ours / stepsPerSecond(each)),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
