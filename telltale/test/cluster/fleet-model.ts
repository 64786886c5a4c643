import fc from 'fast-check';
import type { WorkQueue } from '../../src/cluster/work-queue.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { MemoryHome } from '../../src/store/memory/memory-tables.ts';
import { readRows } from '../../src/store/memory/memory-tables.ts';
import type { SharedStore } from '../../src/store/shared-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createMemoryFleet } from './memory-fleet.ts';
import { createMemoryQueue } from './memory-queue.ts';
import { createSimulatedWorker, type Journal, type Line, type Step } from './simulated-worker.ts';

const LEASE_MS = 3_000;
const WORKERS = 3;
const CAPACITY = 2;
/** Everything that began has ended by then, once nothing goes wrong any more. */
const HEALED_MS = 180_000;

export type Fault =
  | { readonly do: 'start'; readonly at: number; readonly program: readonly Step[] }
  | { readonly do: 'leave'; readonly program: readonly Step[] }
  | { readonly do: 'message'; readonly run: number; readonly by: number }
  | { readonly do: 'pause'; readonly worker: number; readonly ms: number }
  | { readonly do: 'crash' | 'drain'; readonly worker: number }
  | { readonly do: 'join' }
  | { readonly do: 'pass'; readonly ms: number };

export interface Scenario {
  readonly seed: number;
  /** Of a hundred words to or from the store, so many are slow. */
  readonly slow: number;
  readonly faults: readonly Fault[];
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('act' as const), ms: fc.constantFrom(5, 1_500, 5_000) }),
  },
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(10, 900, 4_000) }),
  fc.constant({ do: 'hear' as const }),
);
const program = fc.array(step, { minLength: 1, maxLength: 4 });
const worker = fc.nat(WORKERS - 1);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), at: worker, program }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), program }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('message' as const), run: fc.nat(7), by: worker }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pause' as const),
      worker,
      ms: fc.constantFrom(500, 6_000, 9_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drain' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('join' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(0, 1, 20, 300, 1_200, 4_000),
    }),
  },
);

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  seed: fc.integer(),
  slow: fc.constantFrom(0, 5, 30),
  faults: fc.array(fault, { minLength: 4, maxLength: 20, size: 'max' }),
});

export interface Played {
  /** What cannot be, in words. */
  readonly wrong: readonly string[];
  /** How often what the model is about happened at all. */
  readonly met: Readonly<
    Record<'refused' | 'interrupted' | 'takenOver' | 'fired' | 'heard' | 'ended', number>
  >;
}

/** Breaks what workers rely on, to show that it is noticed. */
export interface Spoil {
  readonly store?: (store: Store, home: MemoryHome) => Store;
  readonly orphans?: SharedStore['orphans'];
  readonly take?: WorkQueue['take'];
}

/** Plays a scenario to its end, and gives what is wrong with what came of it. */
export async function play(
  { seed, slow, faults }: Scenario,
  { store: spoil = (store) => store, ...broken }: Spoil = {},
): Promise<Played> {
  const clock = createSimulatedClock(0, settle);
  const random = mulberry32(seed);
  const latency = () => (random() * 100 < slow ? ([1, 15, 400, 4_000][Math.floor(random() * 4)] ?? 0) : 0);
  const fleet = createMemoryFleet(clock, LEASE_MS);
  const sound = createMemoryQueue(clock);
  const queue = { ...sound, take: broken.take ?? sound.take };
  const programs = new Map<string, readonly Step[]>();
  const journal: Journal = { programs, effects: [], acknowledged: [], refused: [] };
  const sent = new Map<string, Set<number>>();
  const wrong: string[] = [];
  const outside = fleet.open(0).store;

  const join = () => {
    const { store, shared, pid } = fleet.open(pids++);
    const joined = createSimulatedWorker({
      clock,
      queue,
      journal,
      capacity: CAPACITY,
      latency,
      random,
      store: spoil(store, fleet.home),
      shared: { ...shared, orphans: broken.orphans ?? shared.orphans },
      onError: (thrown) => wrong.push(`An error came out: ${String(thrown)}`),
    });
    fleet.beatsAt(pid, joined.lastSign);
    return joined;
  };
  let pids = 1;
  const workers = Array.from({ length: WORKERS }, join);
  const leaving: Promise<void>[] = [];
  const at = (n: number) => workers[n % workers.length] as (typeof workers)[number];
  const send = async (run: string) => {
    const id = await outside.send(run, { kind: 'm', from: 'user', body: null });
    sent.set(run, (sent.get(run) ?? new Set()).add(id));
  };
  /** What nobody does any more may never be told of. */
  const loosely = (promise: Promise<unknown>) => void promise.catch((thrown) => wrong.push(String(thrown)));

  for (const each of faults) {
    switch (each.do) {
      case 'start': {
        const run = `run_${programs.size}`;
        programs.set(run, each.program);
        loosely(at(each.at).begin(run));
        break;
      }
      case 'leave': {
        const run = `run_${programs.size}`;
        programs.set(run, each.program);
        await (await outside.create(run, { kind: 'run', name: 'w', status: 'running', title: '' })).release();
        break;
      }
      case 'message': {
        const run = `run_${each.run}`;
        if (fleet.home.streams.has(run)) await send(run);
        break;
      }
      case 'pause':
        at(each.worker).pause();
        clock.after(each.ms, at(each.worker).wake);
        break;
      case 'crash':
        at(each.worker).crash();
        break;
      case 'drain':
        leaving.push(at(each.worker).leave());
        break;
      case 'join':
        if (workers.length < 2 * WORKERS) workers.push(join());
        break;
      case 'pass':
        await clock.advance(each.ms);
        break;
    }
  }

  // All faults stop. What was being made when its process died may never have come to be.
  if (random() < 0.5) await clock.advance(2 * LEASE_MS);
  for (const each of workers) each.wake();
  const last = join();
  const open = () =>
    [...fleet.home.streams.values()].filter(({ status }) => status === 'running' || status === 'waiting');
  for (let ms = 0; open().length > 0 && ms < HEALED_MS; ms += 500) {
    for (const { stream, status, due, inbox } of open())
      if (status === 'waiting' && due === undefined && inbox.length === 0) await send(stream);
    await clock.advance(500);
  }
  for (const each of workers) each.crash();
  last.crash();
  for (const { stream, status } of open()) wrong.push(`${stream} is ${status} and nobody goes on with it.`);
  for (const each of [...workers, last])
    if (each.most() > CAPACITY)
      wrong.push(`${each.most()} runs were in hand of a worker with ${CAPACITY} places.`);
  const lines = [...fleet.home.streams.keys()].flatMap((stream) =>
    eventsOf(fleet.home, stream).map((line) => JSON.parse(line) as Line),
  );
  const count = (type: Line['t']) => lines.filter(({ t }) => t === type).length;
  return {
    wrong: [...wrong, ...check(fleet.home, journal, sent)],
    met: {
      refused: journal.refused.length,
      interrupted: count('interrupted'),
      takenOver: lines.filter(({ epoch }) => epoch > 1).length,
      fired: count('fired'),
      heard: count('heard'),
      ended: count('ended'),
    },
  };
}

/** Nothing here waits for the machine: after a turn of the event loop every promise has had its way. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function eventsOf(home: MemoryHome, stream: string): readonly string[] {
  const rows = home.streams.get(stream)?.events;
  return rows === undefined ? [] : readRows(rows, 0, rows.length);
}

/** What the logs and the journal say that cannot be. */
function check(
  home: MemoryHome,
  { programs, effects, acknowledged }: Journal,
  sent: ReadonlyMap<string, ReadonlySet<number>>,
): readonly string[] {
  const wrong: string[] = [];
  for (const { run, seq, line } of acknowledged)
    if (eventsOf(home, run)[seq - 1] !== line) wrong.push(`${run} lost its event ${seq}: ${line}`);
  for (const { stream: run, inbox } of home.streams.values()) {
    const events = eventsOf(home, run);
    const lines = events.map((line) => JSON.parse(line) as Line);
    const say = (what: string) => wrong.push(`${run}: ${what}\n  ${events.join('\n  ')}`);
    if (!isOneHistory(lines, programs.get(run) ?? []))
      say('its log is not what one writer would have written.');
    lines.forEach(({ epoch }, n) => {
      if (epoch < (lines[n - 1]?.epoch ?? 0)) say(`its owner ${epoch} wrote after the next had begun.`);
    });
    const heard = lines.flatMap((line) => (line.t === 'heard' ? [line.id] : []));
    if (new Set(heard).size < heard.length) say('it has taken a message twice.');
    const known = new Set([...heard, ...inbox.map(({ id }) => id)]);
    for (const id of sent.get(run) ?? []) if (!known.has(id)) say(`message ${id} is lost.`);
    if (heard.some((id, n) => id < (heard[n - 1] ?? 0))) say('it has taken messages in another order.');
    (programs.get(run) ?? []).forEach((step, i) => {
      const done = effects.filter((effect) => effect === `${run}/${i}`).length;
      const isDone = lines.some((line) => line.t === 'done' && line.i === i);
      if (step.do === 'act' && (isDone ? done !== 1 : done > 1)) say(`step ${i} was done ${done} times.`);
    });
  }
  return wrong;
}

/** Each step in its turn, each once, and nothing behind the end. */
function isOneHistory(lines: readonly Line[], program: readonly Step[]): boolean {
  const left = [...lines];
  for (const [i, { do: what }] of program.entries()) {
    const first = left.shift();
    if (first === undefined) return true;
    if (first.t === 'ended' || first.i !== i) return false;
    if (what === 'hear' && first.t === 'heard') continue;
    if (first.t !== (what === 'act' ? 'begun' : 'waiting')) return false;
    const second = left.shift();
    if (second === undefined) return true;
    const isRight =
      what === 'act'
        ? second.t === 'done' || second.t === 'interrupted'
        : second.t === (what === 'wait' ? 'fired' : 'heard');
    if (!isRight || second.t === 'ended' || second.i !== i) return false;
  }
  return left.length <= 1 && left.every(({ t }) => t === 'ended');
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
