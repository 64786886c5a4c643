import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './parsing/machine.ts';
import { median } from './parsing/measure.ts';
import { figure, table } from './parsing/table.ts';
import { createBareLoop } from './storing/bare-loop.ts';
import type { Contestant } from './storing/contestant.ts';
import { createOurs, createOursInMemory } from './storing/telltale.ts';

const USAGE = `npm run bench -- store [options]
  --sessions N  sessions at once (100)
  --events N    events each of them appends in a round (100)
  --alone N     commits of a lone session in a round (300)
  --rounds N    rounds; each contestant has its turn in each (7)
  --json        machine-readable output
  --no-fail     print the result, but end with 0 when a target is missed`;

const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '100' },
    events: { type: 'string', default: '100' },
    alone: { type: 'string', default: '300' },
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
    'no-fail': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const [sessions, events, alone, rounds] = [
  options.sessions,
  options.events,
  options.alone,
  options.rounds,
].map(Number) as [number, number, number, number];
if (options.help || ![sessions, events, alone, rounds].every((n) => Number.isInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exit(options.help ? 0 : 2);
}

interface Figures {
  readonly perSecond: number[];
  readonly cpuMicros: number[];
  readonly together: number[];
  readonly alone: number[];
  /** Of each round: one bad moment of the machine does not decide. */
  readonly aloneP99: number[];
}

const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-store-'));
const contestants = [
  createBareLoop(join(folder, 'bare.db'), sessions),
  await createOurs(join(folder, 'ours.db'), sessions),
  await createOursInMemory(sessions),
] as const;
const figures = new Map<Contestant, Figures>();
for (const contestant of contestants)
  figures.set(contestant, { perSecond: [], cpuMicros: [], together: [], alone: [], aloneP99: [] });

for (let round = 0; round <= rounds; round++) {
  for (const contestant of contestants) await runRound(contestant, round > 0);
  process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
}
const expected = (rounds + 1) * (sessions * events + alone);
const wrong: string[] = [];
for (const contestant of contestants) {
  const found = await contestant.count();
  if (found !== expected)
    wrong.push(`${contestant.name}: ${found} of ${expected} events are there, in order`);
  await contestant.close();
}
rmSync(folder, { recursive: true, force: true });
process.exitCode = report();

async function runRound(contestant: Contestant, counts: boolean): Promise<void> {
  const own = figures.get(contestant)!;
  const cpu = process.cpuUsage();
  const started = performance.now();
  const together = await contestant.together(events);
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const single = await contestant.alone(alone);
  if (!counts) return;
  own.perSecond.push((sessions * events) / seconds);
  own.cpuMicros.push((user + system) / (sessions * events));
  for (const latency of together) own.together.push(latency);
  for (const latency of single) own.alone.push(latency);
  own.aloneP99.push(quantile(single, 0.99));
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

/** The median over the rounds of ours divided by the bare loop's in the same round. */
function ratio(pick: (of: Figures) => readonly number[]): number {
  const [bare, ours] = [figures.get(contestants[0])!, figures.get(contestants[1])!].map(pick) as [
    number[],
    number[],
  ];
  return median(ours.map((value, round) => value / bare[round]!));
}

function report(): number {
  const rows = contestants.map((contestant) => {
    const own = figures.get(contestant)!;
    const micros = (values: readonly number[], part: number) => figure(quantile(values, part) * 1000);
    return [
      contestant.name,
      figure(median(own.perSecond)),
      figure(median(own.cpuMicros)),
      micros(own.together, 0.5),
      micros(own.together, 0.99),
      micros(own.alone, 0.5),
      micros(own.alone, 0.99),
    ];
  });
  const speed = ratio(({ perSecond }) => perSecond);
  const cpu = ratio(({ cpuMicros }) => cpuMicros);
  const [bareP99, oursP99] = [contestants[0], contestants[1]].map((one) =>
    median(figures.get(one)!.aloneP99),
  ) as [number, number];
  const verdicts = [
    { target: 'at least 0.45 times the bare loop’s events/s', found: speed, met: speed >= 0.45 },
    {
      target: 'a lone commit’s p99 at most the bare one’s + 0.5 ms (medians of the rounds; ms more)',
      found: oursP99 - bareP99,
      met: oursP99 <= bareP99 + 0.5,
    },
    { target: 'every event there, in order', found: wrong.length, met: wrong.length === 0 },
  ];
  if (options.json)
    console.log(JSON.stringify({ machine: describeMachine(), speed, cpu, rows, verdicts, wrong }, null, 2));
  else {
    console.log(`${describeMachine()}\n`);
    console.log(
      `${sessions} sessions at once, one event of 300 characters an append, durability power (fsync on every group).`,
    );
    console.log('Medians of the rounds; latencies in µs over all rounds; CPU time of all threads.\n');
    const head = ['', 'events/s', 'µs CPU', 'p50 together', 'p99', 'p50 alone', 'p99'];
    console.log(table(head, rows));
    console.log(`\ntelltale ÷ bare loop: events/s ${speed.toFixed(2)}, CPU ${cpu.toFixed(2)}\n`);
    for (const { target, found, met } of verdicts)
      console.log(`${met ? '✓' : '✗'} ${target}: ${found.toFixed(2)}`);
    for (const line of wrong) console.log(line);
  }
  return wrong.length > 0 || (verdicts.some(({ met }) => !met) && !options['no-fail']) ? 1 : 0;
}
