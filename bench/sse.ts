import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitCode, printVerdicts } from './agents/verdict.ts';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { type Figures, runScene } from './streams/run-scene.ts';
import type { Scene } from './streams/scene.ts';
import { judgeSse, OURS, RAW, type Row } from './streams/sse-targets.ts';

const USAGE = `npm run bench -- sse [options]
  --clients N   clients that follow (1000)
  --rate N      events a second to each of them (100)
  --seconds N   seconds to measure each time, after two that do not count (4)
  --rounds N    rounds; each contestant has its turn in each (3)
  --no-fail     print the targets, but exit with 0 when one is missed
  --json        machine-readable output`;

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    'no-fail': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [clients, rate, seconds, rounds] = [options.clients, options.rate, options.seconds, options.rounds].map(
  Number,
) as [number, number, number, number];
if (options.help || ![clients, rate, seconds, rounds].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

const SCENES: readonly (readonly [string, Scene])[] = [
  ['a session each', { clients, sessions: clients, eventsPerSecond: rate }],
  ['one session for all', { clients, sessions: 1, eventsPerSecond: rate }],
];
const CONTESTANTS = [
  [RAW, './raw.ts'],
  [OURS, './telltale.ts'],
] as const;
const WARM_UP_MS = 2_000;

const cache = mkdtempSync(join(tmpdir(), 'telltale-bench-sse-'));
process.env.NODE_COMPILE_CACHE = cache;
try {
  await measure();
} finally {
  rmSync(cache, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const found = new Map<string, Figures[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const [sceneName, scene] of SCENES) {
      for (const [name, file] of CONTESTANTS) {
        const measureMs = round === 0 ? 100 : seconds * 1_000;
        const figures = await runScene(file, scene, { warmUpMs: round === 0 ? 100 : WARM_UP_MS, measureMs });
        const key = `${sceneName}: ${name}`;
        if (round > 0) found.set(key, [...(found.get(key) ?? []), figures]);
      }
    }
    process.stderr.write(round === 0 ? 'compiled\n' : `round ${round} of ${rounds}\n`);
  }
  report(
    SCENES.map(([scene]) => [
      scene,
      CONTESTANTS.map(([name]) => rowOf(name, found.get(`${scene}: ${name}`) ?? [])),
    ]),
  );
}

function rowOf(name: string, figures: readonly Figures[]): Row {
  const over = (pick: (figures: Figures) => number) => median(figures.map(pick));
  return {
    name,
    perSecond: over(({ perSecond }) => perSecond),
    usPerEvent: over(({ cpuMs, received }) => (cpuMs * 1000) / received),
    p50: over(({ p50 }) => p50),
    p99: over(({ p99 }) => p99),
  };
}

function report(scenes: readonly (readonly [string, readonly Row[]])[]): void {
  const verdicts = scenes.map(([scene, rows]) => judgeSse(scene, rows));
  if (options.json) {
    console.log(JSON.stringify({ machine: describeMachine(), scenes, verdicts }, null, 2));
    process.exitCode = exitCode(verdicts, options['no-fail']);
    return;
  }
  console.log(`\n${describeMachine()}`);
  console.log(
    `${clients} clients, ${rate} events per second to each, ${seconds} s, medians of ${rounds} rounds. CPU time of the server’s process for each event that reached a client; delays in ms from the event to its client.\n`,
  );
  for (const [scene, rows] of scenes) {
    const raw = rows.find(({ name }) => name === RAW)?.usPerEvent ?? Number.NaN;
    console.log(
      table(
        [scene, 'events/s', 'µs an event', '÷ raw', 'p50', 'p99'],
        rows.map((row) => [
          row.name,
          figure(row.perSecond),
          figure(row.usPerEvent),
          figure(row.usPerEvent / raw),
          figure(row.p50),
          figure(row.p99),
        ]),
      ),
    );
    console.log('');
  }
  process.exitCode = printVerdicts(verdicts, options['no-fail']);
}
