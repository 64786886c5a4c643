import { createFleetEngine } from '../../src/cluster/fleet-engine.ts';
import type { TakenOffer, WorkQueue } from '../../src/cluster/work-queue.ts';
import type { StreamKind, WorkEnd } from '../../src/engine/engine.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { RuntimeError } from '../../src/lib/errors.ts';
import type { SharedStore } from '../../src/store/shared-store.ts';
import type { Append, Store, StreamWriter } from '../../src/store/store.ts';

/** What a simulated run does: something outside the store, a wait for a time, a wait for a message. */
export type Step =
  | { readonly do: 'act'; readonly ms: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'hear' };

/** What stands on the log of a simulated run, and by which of its owners. */
export type Line =
  | { readonly t: 'begun' | 'done' | 'interrupted' | 'fired'; readonly i: number; readonly epoch: number }
  | { readonly t: 'waiting'; readonly i: number; readonly due?: number; readonly epoch: number }
  | { readonly t: 'heard'; readonly i: number; readonly id: number; readonly epoch: number }
  | { readonly t: 'ended'; readonly epoch: number };

/** What the model is told, and checks. */
export interface Journal {
  readonly programs: ReadonlyMap<string, readonly Step[]>;
  /** What was done outside the store: `RUN/STEP`. */
  readonly effects: string[];
  /** What a worker was told is on the log. */
  readonly acknowledged: { readonly run: string; readonly seq: number; readonly line: string }[];
  /** Codes of the appends that were refused. */
  readonly refused: string[];
}

export interface WorkerEdges {
  readonly clock: Clock;
  readonly store: Store;
  readonly shared: Pick<SharedStore, 'orphans' | 'onOrphans' | 'workers' | 'isAlive' | 'forgive'>;
  readonly queue: WorkQueue;
  readonly journal: Journal;
  readonly capacity: number;
  /** How long the next word to or from the store takes. */
  readonly latency: () => number;
  readonly random: () => number;
  readonly onError: (thrown: unknown) => void;
}

const SIGN_MS = 600;

/**
 * A process of a fleet: an engine, work as the runtime does it, and a network to the store on which every word takes its
 * time. One that is paused hears and does nothing until it wakes; one that has crashed never does. What it had sent
 * arrives all the same.
 */
export function createSimulatedWorker(deps: WorkerEdges) {
  const { clock: wall, journal, capacity, latency } = deps;
  let status: 'running' | 'paused' | 'crashed' = 'running';
  let lastSign = 0;
  let missed: (() => void)[] = [];
  const happen = (what: () => void) => {
    if (status === 'running') what();
    else if (status === 'paused') missed.push(what);
  };
  const clock: Clock = {
    now: wall.now,
    monotonic: wall.monotonic,
    after: (ms, fire) => wall.after(ms, () => happen(fire)),
  };

  /** What was sent before arrives before. */
  let lastArrival = 0;
  const travel = (then: () => void) => {
    lastArrival = Math.max(lastArrival, wall.monotonic() + latency());
    const ms = lastArrival - wall.monotonic();
    if (ms <= 0) then();
    else wall.after(ms, then);
  };
  const reply = (then: () => void) => {
    const ms = latency();
    if (ms <= 0) happen(then);
    else wall.after(ms, () => happen(then));
  };
  const ask = <Answer>(op: () => Promise<Answer>): Promise<Answer> =>
    new Promise((resolve, reject) =>
      travel(() =>
        op().then(
          (answer) => reply(() => resolve(answer)),
          (error) => reply(() => reject(error)),
        ),
      ),
    );
  const far = (writer: StreamWriter): StreamWriter => ({
    ...writer,
    append: (append, settled) => travel(() => writer.append(append, (error) => reply(() => settled(error)))),
    inbox: () => ask(() => writer.inbox()),
    release: () => ask(() => writer.release()),
  });
  const store: Pick<Store, 'create' | 'acquire' | 'read' | 'send' | 'info'> = {
    create: async (...args) => far(await ask(() => deps.store.create(...args))),
    acquire: async (...args) => far(await ask(() => deps.store.acquire(...args))),
    read: (...args) => ask(() => deps.store.read(...args)),
    send: (...args) => ask(() => deps.store.send(...args)),
    info: (...args) => ask(() => deps.store.info(...args)),
  };
  const farOffer = (offer: TakenOffer): TakenOffer => ({
    ...offer,
    settled: () => ask(offer.settled),
    failed: (why) => ask(() => offer.failed(why)),
  });
  const queue: WorkQueue = {
    ...deps.queue,
    offer: (...args) => ask(() => deps.queue.offer(...args)),
    take: async (...args) => (await ask(() => deps.queue.take(...args))).map(farOffer),
    turn: (...args) => ask(() => deps.queue.turn(...args)),
    tend: () => ask(deps.queue.tend),
    onOffered: (wake) => deps.queue.onOffered(() => happen(wake)),
  };
  const shared = {
    ...deps.shared,
    orphans: (limit: number) => ask(() => deps.shared.orphans(limit)),
    forgive: (stream: string) => ask(() => deps.shared.forgive(stream)),
    onOrphans: (moved: () => void) => deps.shared.onOrphans(() => happen(moved)),
  };

  const engine = createFleetEngine({
    store,
    shared,
    queue,
    clock,
    capacity,
    random: deps.random,
    onError: deps.onError,
  });
  const fresh = new Map<string, StreamWriter>();
  let working = 0;
  let most = 0;

  engine.onWork('run', async (run, signal, taken) => {
    const held = fresh.get(run);
    fresh.delete(run);
    const writer = held ?? (await store.acquire(run));
    working += 1;
    most = Math.max(most, working);
    try {
      const lines = held === undefined ? await store.read(run) : [];
      taken();
      return await walk(run, writer, lines, signal);
    } finally {
      working -= 1;
      await writer.release();
    }
  });

  const walk = async (
    run: string,
    writer: StreamWriter,
    lines: readonly string[],
    signal: AbortSignal,
  ): Promise<WorkEnd> => {
    const { epoch } = writer;
    const program = journal.programs.get(run) ?? [];
    let seq = lines.length;
    const append = (line: Line, more: Omit<Append, 'expectedSeq' | 'events'>) =>
      new Promise<void>((resolve, reject) => {
        const text = JSON.stringify(line);
        const settled = (error?: RuntimeError) => {
          if (error !== undefined) {
            journal.refused.push(error.code);
            return reject(error);
          }
          journal.acknowledged.push({ run, seq, line: text });
          resolve();
        };
        seq += 1;
        writer.append({ ...more, expectedSeq: seq - 1, events: [text] }, settled);
      });
    const running = { status: 'running' };

    const last = lines.length === 0 ? undefined : (JSON.parse(lines.at(-1) as string) as Line);
    if (last?.t === 'ended') return { kind: 'done' };
    let i = last === undefined ? 0 : last.t === 'begun' || last.t === 'waiting' ? last.i : last.i + 1;
    let begun = last?.t === 'begun';
    let waits = last?.t === 'waiting' ? last : undefined;
    for (; i < program.length; i += 1) {
      if (signal.aborted) return { kind: 'done' };
      const step = program[i] as Step;
      if (step.do === 'act') {
        if (begun) await append({ t: 'interrupted', i, epoch }, running);
        else {
          await append({ t: 'begun', i, epoch }, running);
          await new Promise<void>((resolve) => clock.after(step.ms, resolve));
          journal.effects.push(`${run}/${i}`);
          await append({ t: 'done', i, epoch }, running);
        }
      } else if (step.do === 'wait') {
        const due = waits?.due ?? clock.now() + step.ms;
        if (waits === undefined) await append({ t: 'waiting', i, due, epoch }, { status: 'waiting', due });
        if (due > clock.now()) return { kind: 'waiting', due };
        await append({ t: 'fired', i, epoch }, running);
      } else {
        const [message] = await writer.inbox();
        if (message === undefined) {
          if (waits === undefined) await append({ t: 'waiting', i, epoch }, { status: 'waiting' });
          return { kind: 'waiting' };
        }
        await append({ t: 'heard', i, id: message.id, epoch }, { ...running, consumed: [message.id] });
      }
      begun = false;
      waits = undefined;
    }
    await append({ t: 'ended', epoch }, { status: 'completed' });
    return { kind: 'done' };
  };

  const crash = () => {
    if (status === 'running') lastSign = wall.now() - deps.random() * SIGN_MS;
    status = 'crashed';
    missed = [];
  };

  engine.start();
  return {
    status: () => status,
    most: () => most,
    /** Makes a run and works on it, in its turn. */
    async begin(run: string) {
      fresh.set(run, await store.create(run, { kind: 'run', name: 'w', status: 'running', title: '' }));
      engine.dispatch('run', run, 'here');
    },
    signal: (run: string) =>
      engine.signal('run' satisfies StreamKind, run, { kind: 'm', from: 'user', body: null }),
    /** Of life: now, while it runs; else some time before it was stopped. */
    lastSign: () => (status === 'running' ? wall.now() : lastSign),
    pause() {
      if (status !== 'running') return;
      status = 'paused';
      lastSign = wall.now() - deps.random() * SIGN_MS;
    },
    wake() {
      if (status !== 'paused') return;
      status = 'running';
      const all = missed;
      missed = [];
      for (const each of all) happen(each);
    },
    crash,
    /** Lets go of everything, for others, and ends. */
    async leave() {
      await engine.drain();
      await engine.close();
      for (const writer of fresh.values()) await writer.release();
      crash();
    },
  };
}
