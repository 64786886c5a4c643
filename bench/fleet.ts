import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import { quantile } from './agents/quantile.ts';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { measureFailOver } from './fleet/fail-over.ts';
import { type FleetFigures, judgeFleet } from './fleet/fleet-targets.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';
import type { ContestFigures } from './workflows/contestant.ts';
import { startRestate } from './workflows/start-restate.ts';
import { stepsPerSecond } from './workflows/workflow-targets.ts';

const USAGE = `npm run bench -- fleet [options]
  --runs N      workflows to run (500)
  --steps N     steps of each (10)
  --at-once N   workflows at once (100)
  --no-peers    ours alone
  --scale       also measure two workers and fail-over, the figures of docs/scale.md
  --no-fail     print the targets, but exit with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    steps: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '100' },
    scale: { type: 'boolean', default: false },
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

const ROUNDS = 3;
/** Runs of each worker that is killed, and how many are killed. */
const HELD = 100;
const KILLS = 5;
const CHILD = fileURLToPath(new URL('./workflows/child.ts', import.meta.url));
const own = (file: string) => fileURLToPath(new URL(`./fleet/${file}`, import.meta.url));
const progress = (line: string) => void process.stderr.write(`${line}\n`);
const given = { runs, steps, atOnce, rounds: ROUNDS };

const contest = async (file: string, servers: object): Promise<ContestFigures> =>
  (await runNode([CHILD, file, JSON.stringify({ ...given, ...servers })])) as ContestFigures;

/** A new server for each measurement, with fsync. */
async function onPostgres<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = await startPostgres({ durable: true });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

progress('one worker');
const one = await onPostgres((postgres) => contest(own('telltale-worker.ts'), { postgres }));
const peers: { readonly name: string; readonly figures: ContestFigures }[] = [];
if (!options['no-peers']) {
  await installPeers(progress);
  progress('DBOS 5.3');
  peers.push({
    name: 'DBOS 5.3',
    figures: await onPostgres((postgres) => contest(`${PEERS}/dbos.js`, { postgres })),
  });
  progress('Restate 1.7');
  const restate = await startRestate();
  try {
    const { ingress, admin } = restate;
    peers.push({
      name: 'Restate 1.7',
      figures: await contest(`${PEERS}/restate.js`, { restate: { ingress, admin } }),
    });
  } finally {
    await restate.stop();
  }
}

const scale = options.scale ? await measureScale() : undefined;
const found: FleetFigures = { one, peers, ...(scale === undefined ? {} : { scale }) };
const verdicts = judgeFleet(found);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), ...given, ...found, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  const rows: (readonly [string, ContestFigures])[] = [
    ['telltale, one worker', one],
    ...peers.map(({ name, figures }) => [name, figures] as const),
  ];
  if (scale !== undefined)
    rows.push(
      ['telltale, one worker, steps of 20 ms', scale.slowOne],
      ...scale.slowTwo.map((each, n) => [`telltale, worker ${n + 1} of two, steps of 20 ms`, each] as const),
    );
  console.log(`\n${describeMachine()}`);
  console.log(
    `Workflows of ${steps} steps, ${atOnce} at a time, every step on disk before the next begins; the database runs on the same cores, with fsync.\n`,
  );
  console.log(
    table(
      ['', 'steps/s', 'low', 'high', 'one worker ÷ it'],
      rows.map(([name, each]) => [
        name,
        figure(stepsPerSecond(each)),
        figure(Math.min(...each.perSecond)),
        figure(Math.max(...each.perSecond)),
        figure(stepsPerSecond(one) / stepsPerSecond(each)),
      ]),
    ),
  );
  if (scale !== undefined) {
    const { takenMs } = scale.failOver;
    console.log(
      `\nFail-over, from SIGKILL until another worker has the run, ${takenMs.length} runs of ${KILLS} workers: median ${figure(quantile(takenMs, 0.5) / 1000)} s, p99 ${figure(quantile(takenMs, 0.99) / 1000)} s.`,
    );
  }
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}

async function measureScale(): Promise<NonNullable<FleetFigures['scale']>> {
  const slow = (count: number) =>
    onPostgres((postgres) =>
      Promise.all(Array.from({ length: count }, () => contest(own('slow-worker.ts'), { postgres }))),
    );
  progress('one worker, steps of 20 ms');
  const [slowOne] = await slow(1);
  progress('two workers, steps of 20 ms');
  const slowTwo = await slow(2);
  progress(`${KILLS} workers killed, each with ${HELD} runs`);
  const failOver = await onPostgres((postgres) =>
    measureFailOver({ postgres, held: HELD, kills: KILLS, progress }),
  );
  return { slowOne: slowOne!, slowTwo, failOver };
}
