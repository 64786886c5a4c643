import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { atMost, exitCode, printVerdicts, type Verdict } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { type Figures, runDaemon, runScene } from './streams/run-scene.ts';
import { timeEmpty, timeServe } from './streams/serve-start.ts';

const USAGE = `npm run bench -- serving [options]
  --sessions N  sessions that talk at once, each followed by a client (500)
  --rate N      tokens a second of each (50)
  --seconds N   that are measured each time, after two that are not (4)
  --rounds N    rounds; each contestant has its turn in each (3)
  --starts N    starts of \`telltale serve\` (10)
  --no-fail     print the targets, but end with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '500' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    starts: { type: 'string', default: '10' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const { sessions: s, rate: r, seconds: sec, rounds: n, starts: st } = options;
const [sessions, rate, seconds, rounds, starts] = [s, r, sec, n, st].map(Number) as [
  number,
  number,
  number,
  number,
  number,
];
if (
  options.help ||
  ![sessions, rate, seconds, rounds, starts].every((each) => Number.isInteger(each) && each > 0)
) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const RAW = 'raw ServerResponse, 50 ms, no runtime';
const OURS = 'the daemon, durable sessions';
const EMPTY = 'floor: node -e 0';
const SERVE = 'telltale serve, until it is ready';
/** An empty program takes Node 40 ms on a quiet machine of the kind that the targets were set on. */
const FLOOR_MS = 40;
const START_MS = 500;

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-serving-'));
process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
writeFileSync(join(folder, 'agent.yml'), 'kind: Agent\nname: bench\nmodel: scripted:./turns.yml\n');
writeFileSync(join(folder, 'turns.yml'), 'turns:\n  - <response final="true">Done.</response>\n');
try {
  report(await measureTalk(), await measureStarts());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

type Talk = ReadonlyMap<string, readonly Figures[]>;
type Starts = ReadonlyMap<string, readonly number[]>;

async function measureTalk(): Promise<Talk> {
  const scene = { clients: sessions, sessions, eventsPerSecond: rate };
  const pace = { warmUpMs: 2_000, measureMs: seconds * 1_000 };
  const found = new Map<string, Figures[]>([
    [RAW, []],
    [OURS, []],
  ]);
  for (let round = 1; round <= rounds; round++) {
    found.get(RAW)?.push(await runScene('./raw.ts', scene, pace));
    found.get(OURS)?.push(await runDaemon(scene, pace));
    process.stderr.write(`round ${round} of ${rounds}\n`);
  }
  return found;
}

async function measureStarts(): Promise<Starts> {
  const found = new Map<string, number[]>([
    [EMPTY, []],
    [SERVE, []],
  ]);
  await timeServe(folder); // makes the store, and Node's cache of compiled code
  for (let start = 0; start < starts; start++) {
    found.get(EMPTY)?.push(timeEmpty());
    found.get(SERVE)?.push(await timeServe(folder));
  }
  process.stderr.write(`${starts} starts\n`);
  return found;
}

function report(talk: Talk, began: Starts): void {
  const over = (name: string, pick: (figures: Figures) => number) => median((talk.get(name) ?? []).map(pick));
  const best = (name: string) => Math.min(...(began.get(name) ?? []));
  const times = over(OURS, ({ p50 }) => p50) / over(RAW, ({ p50 }) => p50);
  const verdicts: readonly Verdict[] = [
    atMost('half of the tokens come within 2 times the delay of raw responses', times, 2, '×'),
    atMost(
      `telltale serve is ready within ${figure(START_MS / FLOOR_MS)} times an empty program (best ÷ best)`,
      best(SERVE) / best(EMPTY),
      START_MS / FLOOR_MS,
      'times',
    ),
    atMost(
      'p99 of tokens at most 100 ms',
      over(OURS, ({ p99 }) => p99),
      100,
      'ms',
      false,
    ),
    atMost(
      'p99 of events on the log at most 100 ms',
      over(OURS, ({ logged }) => logged.p99),
      100,
      'ms',
      false,
    ),
    atMost(
      `telltale serve is ready within ${START_MS} ms`,
      median(began.get(SERVE) ?? []),
      START_MS,
      'ms',
      false,
    ),
  ];
  if (options.json) {
    console.log(
      JSON.stringify({ machine: describeMachine(), talk: [...talk], starts: [...began], verdicts }, null, 2),
    );
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${sessions} sessions at ${rate} tokens a second, each followed by a client, ${seconds} s, durability power; medians of ${rounds} rounds. Delays in ms: of tokens from when the model said them, of events on the log from when they were made, commit included.\n`,
  );
  console.log(
    table(
      ['', 'tokens and events/s', '% of a core', 'tokens p50', 'p99', 'on the log p50', 'p99'],
      [...talk.keys()].map((name) => [
        name,
        figure(over(name, ({ perSecond }) => perSecond)),
        figure(over(name, ({ cpu }) => cpu * 100)),
        figure(over(name, ({ p50 }) => p50)),
        figure(over(name, ({ p99 }) => p99)),
        figure(over(name, ({ logged }) => logged.p50)),
        figure(over(name, ({ logged }) => logged.p99)),
      ]),
    ),
  );
  console.log(`\nStarts, ${starts} of each in turns; ms.\n`);
  console.log(
    table(
      ['', 'best', 'median', '÷ empty (best)'],
      [...began].map(([name, took]) => [
        name,
        figure(best(name)),
        figure(median(took)),
        figure(best(name) / best(EMPTY)),
      ]),
    ),
  );
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
