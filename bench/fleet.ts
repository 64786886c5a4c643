import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '../telltale/test/servers/start-postgres.ts';
import { PEERS } from './agents/field.ts';
import { installPeers } from './agents/install-peers.ts';
import { quantile } from './agents/quantile.ts';
import { runNode } from './agents/run-child.ts';
import { exitCode, printVerdicts, type Verdict } from './agents/verdict.ts';
import { type FailOver, measureFailOver } from './fleet/fail-over.ts';
import { type FleetFigures, judgeFleet } from './fleet/fleet-targets.ts';
import { describeMachine } from './parsing/machine.ts';
import { figure, table } from './parsing/table.ts';
import type { ContestFigures } from './workflows/contestant.ts';
import { startRestate } from './workflows/start-restate.ts';
import { stepsPerSecond } from './workflows/workflow-targets.ts';

const USAGE = `npm run bench -- fleet [options]
  --runs N      workflows that are run (500)
  --steps N     steps of each (10)
  --at-once N   workflows at once (100)
  --held N      runs that the worker holds which is killed (100)
  --kills N     workers that are killed (5)
  --no-peers    ours and the floor only
  --no-fail     print the targets, but end with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '500' },
    steps: { type: 'string', default: '10' },
    'at-once': { type: 'string', default: '100' },
    held: { type: 'string', default: '100' },
    kills: { type: 'string', default: '5' },
    'no-peers': { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [runs, steps, atOnce, held, kills] = [
  options.runs,
  options.steps,
  options['at-once'],
  options.held,
  options.kills,
].map(Number) as [number, number, number, number, number];
if (options.help || ![runs, steps, atOnce, held, kills].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const ROUNDS = 3;
const CHILD = fileURLToPath(new URL('./workflows/child.ts', import.meta.url));
const own = (file: string) => fileURLToPath(new URL(`./fleet/${file}`, import.meta.url));
const progress = (line: string) => void process.stderr.write(`${line}\n`);
const given = { runs, steps, atOnce, starts: 0, rounds: ROUNDS };

const contest = async (file: string, servers: object): Promise<ContestFigures> =>
  (await runNode([CHILD, file, JSON.stringify({ ...given, ...servers })])) as ContestFigures;

/** Each on a server of its own, made from nothing, that waits for the disk. */
async function onPostgres<T>(work: (url: string) => Promise<T>): Promise<T> {
  const server = await startPostgres({ durable: true });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

const together = async (count: number, file: string): Promise<readonly ContestFigures[]> =>
  onPostgres((postgres) =>
    Promise.all(Array.from({ length: count }, () => contest(own(file), { postgres }))),
  );

progress('bare group commit on PostgreSQL');
const floor = await onPostgres((postgres) => contest(own('bare-postgres.ts'), { postgres }));
progress('bare loop on the same store');
const store = await onPostgres((postgres) => contest(own('store-postgres.ts'), { postgres }));
progress('one worker');
const [one] = await together(1, 'telltale-worker.ts');
progress('one worker whose steps take their time');
const [slowOne] = await together(1, 'slow-worker.ts');
progress('two of them');
const slowTwo = await together(2, 'slow-worker.ts');
progress(`${kills} workers killed, each with ${held} runs`);
const failOver: FailOver = await onPostgres((postgres) =>
  measureFailOver({ postgres, held, kills, progress }),
);
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

const found: FleetFigures = {
  floor,
  store,
  one: one as ContestFigures,
  slowOne: slowOne as ContestFigures,
  slowTwo,
  peers,
  failOver,
};
const verdicts: readonly Verdict[] = judgeFleet(found);
if (options.json) {
  console.log(JSON.stringify({ machine: describeMachine(), ...given, ...found, verdicts }, null, 2));
  process.exitCode = exitCode(verdicts, options['no-fail']);
} else {
  const rows: readonly (readonly [string, ContestFigures])[] = [
    ['bare inserts into one table, grouped', floor],
    ['bare group-commit loop on the same store', store],
    ['telltale, one worker', found.one],
    ...peers.map(({ name, figures }) => [name, figures] as const),
    ['telltale, one worker, steps of 20 ms', found.slowOne],
    ...slowTwo.map((each, n) => [`telltale, worker ${n + 1} of two, steps of 20 ms`, each] as const),
  ];
  console.log(`\n${describeMachine()}`);
  console.log(
    `${runs} workflows of ${steps} steps, ${atOnce} at a time, every step on disk before the next begins; the database on the same cores, with fsync.\n`,
  );
  console.log(
    table(
      ['', 'steps/s', 'low', 'high', 'one worker ÷ it', 'µs CPU a step'],
      rows.map(([name, each]) => [
        name,
        figure(stepsPerSecond(each)),
        figure(Math.min(...each.perSecond)),
        figure(Math.max(...each.perSecond)),
        figure(stepsPerSecond(found.one) / stepsPerSecond(each)),
        figure(quantile(each.cpuUs, 0.5)),
      ]),
    ),
  );
  const { takenMs } = failOver;
  console.log(
    `\nFail-over after SIGKILL, from the kill until another worker has the run, over ${takenMs.length} runs of ${kills} workers: median ${figure(quantile(takenMs, 0.5) / 1000)} s, p99 ${figure(quantile(takenMs, 0.99) / 1000)} s, longest ${figure(Math.max(...takenMs) / 1000)} s.\n`,
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
