import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import { quantile } from './agents/quantile.ts';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';
import type { ContestFigures } from './workflows/contestant.ts';
import { startRestate } from './workflows/start-restate.ts';
import {
  FLOOR,
  judgeWorkflows,
  OURS,
  STORE_FLOOR,
  stepsPerSecond,
  type WorkflowFigures,
} from './workflows/workflow-targets.ts';

const USAGE = `npm run bench -- workflows [options]
  --runs N      workflows that are run at least, in five rounds of a second or more (1000)
  --steps N     steps of each (10)
  --at-once N   workflows at once (100)
  --starts N    workflows that are started one after another, for the time of a start (300)
  --no-peers    ours and the floor only
  --no-fail     print the targets, but end with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    steps: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '100' },
    starts: { type: 'string', default: '300' },
    'no-peers': { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, steps, atOnce, starts] = [options.runs, options.steps, options['at-once'], options.starts].map(
  Number,
) as [number, number, number, number];
if (options.help || ![runs, steps, atOnce, starts].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const ROUNDS = 5;
const CHILD = fileURLToPath(new URL('./workflows/child.ts', import.meta.url));
const own = (file: string) => fileURLToPath(new URL(`./workflows/${file}`, import.meta.url));
const progress = (line: string) => void process.stderr.write(`${line}\n`);

const figures: WorkflowFigures[] = [];
await contest(FLOOR, 'floor', own('bare-loop.ts'), {});
await contest(STORE_FLOOR, 'store', own('store-loop.ts'), {});
await contest(OURS, 'ours', own('telltale-once.ts'), {});
await contest(`${OURS}, idempotent steps`, 'other', own('telltale-idempotent.ts'), {});
await contest(`${OURS}, its log alone`, 'other', own('run-log.ts'), {});
if (!options['no-peers']) await contestPeers();
report();

/** In a process of its own: a peer is one instance for a whole process. */
async function contest(
  name: string,
  kind: WorkflowFigures['kind'],
  file: string,
  servers: object,
): Promise<void> {
  progress(name);
  const given = { runs, steps, atOnce, starts, rounds: ROUNDS, ...servers };
  const found = (await runNode([CHILD, file, JSON.stringify(given)])) as ContestFigures;
  figures.push({ name, kind, ...found });
}

async function contestPeers(): Promise<void> {
  await installPeers(progress);
  const peer = (file: string) => `${PEERS}/${file}`;
  for (const [name, file] of [
    ['openworkflow 0.10, PostgreSQL', 'openworkflow.js'],
    ['DBOS 5.3, PostgreSQL', 'dbos.js'],
  ] as const) {
    const postgres = await startPostgres({ durable: true });
    try {
      await contest(name, 'peer', peer(file), { postgres: postgres.url });
    } finally {
      await postgres.stop();
    }
  }
  const restate = await startRestate();
  try {
    const { ingress, admin } = restate;
    await contest('Restate 1.7', 'peer', peer('restate.js'), { restate: { ingress, admin } });
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
  const ours = figures.find(({ kind }) => kind === 'ours');
  const startOf = ({ startMs }: ContestFigures, part: number) =>
    startMs.length === 0 ? '–' : figure(quantile(startMs, part));
  console.log(`\n${describeMachine()}`);
  console.log(
    `${runs} workflows of ${steps} steps, ${atOnce} at a time, every step on disk before the next begins. Start: ${starts} workflows one after another, ms from asking for one to its first step.\n`,
  );
  console.log(
    table(
      ['', 'steps/s', 'low', 'high', 'ours ÷ it', 'µs CPU a step', 'start, median', 'p99'],
      figures.map((each) => [
        each.name,
        figure(stepsPerSecond(each)),
        figure(Math.min(...each.perSecond)),
        figure(Math.max(...each.perSecond)),
        ours === undefined ? '–' : figure(stepsPerSecond(ours) / stepsPerSecond(each)),
        figure(quantile(each.cpuUs, 0.5)),
        startOf(each, 0.5),
        startOf(each, 0.99),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
