import type { Clock } from '../lib/clock.ts';
import { RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import type { Store } from '../store/store.ts';
import type { Engine, Schedule, StreamKind, Work, WorkEnd } from './engine.ts';
import { createFairQueue } from './slots.ts';
import { everyTimetable, openTimetable, type Timetable } from './timetable.ts';
import { type CapacityReservation, WorkerCapacity } from './worker-capacity.ts';

export interface EmbeddedEngineOptions {
  /** Whose inboxes signals go to. */
  readonly store: Pick<Store, 'send'>;
  readonly clock: Clock;
  /** Is told what escapes from work and from schedules: about a stream, where it is of one. */
  readonly onError: (thrown: unknown, about?: { readonly kind: StreamKind; readonly stream: string }) => void;
  /** How many streams are worked on at once; the others wait for their turn. */
  readonly atOnce?: number;
  /** What they share with the rest of the process: a stream that nobody called is worked on when it has a place. */
  readonly places?: WorkerCapacity | undefined;
}

const AT_ONCE = 256;
/** Streams that are known: worked on, placed or due. More than that stay where they are, on the log. */
const MAX_STREAMS = 1_000_000;
/** Called streams that are remembered as such while they wait. */
const MAX_CALLED = 100_000;
/** Pauses after errors that may pass, one a try. */
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];

/** The engine of one process, with what a fleet's engine asks of it. */
export interface EmbeddedEngine extends Engine {
  /** How many streams are worked on or placed. */
  inHand(kind?: StreamKind): number;
  /** How many streams wait for a place. */
  inLine(): number;
  /** Whether a stream is worked on or placed. */
  has(kind: StreamKind, stream: string): boolean;
}

/** What is known of a stream that is worked on, placed or due. */
interface EmbeddedEngineEntry {
  readonly kind: StreamKind;
  readonly stream: string;
  /** Whose turn it takes where others wait, too. */
  group: string;
  status: 'idle' | 'placed' | 'working';
  /** Placed while it was worked on. */
  again: boolean;
  /** Errors in a row. */
  errors: number;
  /** While it is worked on, unless it was called. */
  held: CapacityReservation | undefined;
}

/** Work in this process: a queue, a heap of times, and no memory that a restart would miss. */
export function createEmbeddedEngine(options: EmbeddedEngineOptions): EmbeddedEngine {
  const { store, clock, onError } = options;
  const places = options.places ?? new WorkerCapacity();
  const atOnce = options.atOnce ?? (places.capacity < Number.POSITIVE_INFINITY ? places.capacity : AT_ONCE);
  const works = new Map<StreamKind, Work>();
  const entries = new Map<string, EmbeddedEngineEntry>();
  /** Placed just now: where there is room, they never stand in the queue. */
  let fresh: EmbeddedEngineEntry[] = [];
  /** Placed, and waiting for room. */
  const waiting = createFairQueue<EmbeddedEngineEntry>();
  const working = new Set<EmbeddedEngineEntry>();
  /** Keys of streams whose callers wait for them here: they go on without a place of their own, also after a pause. */
  const called = new Set<string>();
  /** Of those that are worked on, how many have a place. */
  let runningCount = 0;
  const closing = new AbortController();
  let idlers: (() => void)[] = [];
  let pumping = false;

  const alarm = createAlarm<EmbeddedEngineEntry>(clock, (entry) => enqueue(entry));
  const schedules = createSchedules(clock, onError);

  const find = (kind: StreamKind, stream: string, group?: string): EmbeddedEngineEntry | undefined => {
    if (closing.signal.aborted) return undefined;
    if (!works.has(kind)) throw workMissing(kind, stream);
    const key = keyOf(kind, stream);
    const known = entries.get(key);
    if (known !== undefined) {
      if (group !== undefined) known.group = group;
      return known;
    }
    if (entries.size >= MAX_STREAMS) {
      onError(engineFull(stream), { kind, stream });
      return undefined;
    }
    const entry: EmbeddedEngineEntry = {
      kind,
      stream,
      group: group ?? stream,
      status: 'idle',
      again: false,
      errors: 0,
      held: undefined,
    };
    entries.set(key, entry);
    return entry;
  };

  const enqueue = (entry: EmbeddedEngineEntry) => {
    if (entry.status === 'working') entry.again = true;
    if (entry.status !== 'idle') return;
    entry.status = 'placed';
    fresh.push(entry);
    if (pumping) return;
    pumping = true;
    queueMicrotask(pump);
  };

  /** Whether it may begin now: then it has its place. */
  const hasRoom = (entry: EmbeddedEngineEntry): boolean => {
    if (closing.signal.aborted) return false;
    if (called.has(keyOf(entry.kind, entry.stream))) return true;
    if (runningCount >= atOnce) return false;
    entry.held = places.take(entry.kind, entry.stream);
    return entry.held !== undefined;
  };
  const pump = () => {
    pumping = false;
    beginWaiting();
    const all = fresh;
    fresh = [];
    for (const entry of all) {
      if (entry.status !== 'placed') continue; // it was called meanwhile
      if (hasRoom(entry)) begin(entry);
      else if (!closing.signal.aborted) waiting.push(entry, entry.group);
    }
  };
  const beginWaiting = () => {
    for (let next = waiting.peek(); next !== undefined && hasRoom(next); next = waiting.peek()) {
      waiting.shift();
      begin(next);
    }
  };

  const begin = (entry: EmbeddedEngineEntry) => {
    entry.status = 'working';
    working.add(entry);
    if (entry.held !== undefined) runningCount++;
    // Being worked on now is what it waited for.
    const due = alarm.dueOf(entry);
    if (due !== undefined && due <= clock.now()) alarm.delete(entry);
    perform(entry).then(
      (end) => {
        entry.errors = 0;
        settle(entry, end);
      },
      (thrown) => settle(entry, fail(entry, thrown)),
    );
  };

  const perform = async ({ kind, stream }: EmbeddedEngineEntry): Promise<WorkEnd> =>
    (works.get(kind) as Work)(stream, closing.signal, nothing);

  const fail = (entry: EmbeddedEngineEntry, thrown: unknown): WorkEnd => {
    const { kind, stream } = entry;
    if (!closing.signal.aborted) onError(thrown, { kind, stream });
    const pause = toRuntimeError(thrown).retryable ? RETRY_MS[entry.errors] : undefined;
    entry.errors++;
    return pause === undefined ? { kind: 'waiting' } : { kind: 'waiting', due: clock.now() + pause };
  };

  const settle = (entry: EmbeddedEngineEntry, end: WorkEnd) => {
    working.delete(entry);
    entry.status = 'idle';
    const { held } = entry;
    entry.held = undefined;
    if (held !== undefined) runningCount--;
    if (end.kind === 'done') {
      alarm.delete(entry);
      called.delete(keyOf(entry.kind, entry.stream));
    }
    if (end.kind !== 'done' && end.due !== undefined) wake(entry, end.due);
    if (entry.again) enqueue(entry);
    else if (alarm.dueOf(entry) === undefined) entries.delete(keyOf(entry.kind, entry.stream));
    entry.again = false;
    held?.release();
    beginWaiting();
    tellIdlers();
  };

  const wake = (entry: EmbeddedEngineEntry, due: number) => {
    if (due < (alarm.dueOf(entry) ?? Number.POSITIVE_INFINITY)) alarm.set(entry, due);
  };

  const begunSoon = () => fresh.filter(({ status }) => status === 'placed');
  const inHand = () => [...working, ...waiting, ...begunSoon()];
  const isPlaced = () => waiting.size > 0 || fresh.some(({ status }) => status === 'placed');
  const isIdle = () => working.size === 0 && (closing.signal.aborted || !isPlaced());
  const tellIdlers = () => {
    if (idlers.length === 0 || !isIdle()) return;
    const all = idlers;
    idlers = [];
    for (const tell of all) tell();
  };
  const idle = (): Promise<void> =>
    isIdle() ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve));

  const noteCalled = (entry: EmbeddedEngineEntry) => {
    const [oldest] = called;
    if (called.size >= MAX_CALLED && oldest !== undefined) called.delete(oldest);
    called.add(keyOf(entry.kind, entry.stream));
  };

  const inLine = () => waiting.size + begunSoon().length;
  places.countInLine(inLine);
  const unheard = places.onFree(() => {
    beginWaiting();
    tellIdlers();
  });

  const dispatch: Engine['dispatch'] = (kind, stream, how, group) => {
    const entry = find(kind, stream, group);
    if (entry === undefined) return 'here';
    if (how === 'called') noteCalled(entry);
    if (how !== 'called' || entry.status === 'working') enqueue(entry);
    else {
      waiting.delete(entry);
      begin(entry);
    }
    return 'here';
  };

  return {
    remembers: 'here',
    inLine,
    inHand: (kind) =>
      kind === undefined
        ? working.size + waiting.size + begunSoon().length
        : inHand().filter((entry) => entry.kind === kind).length,
    has: (kind, stream) => (entries.get(keyOf(kind, stream))?.status ?? 'idle') !== 'idle',
    onWork(kind, work) {
      if (works.has(kind)) throw workTaken(kind);
      works.set(kind, work);
    },
    dispatch,
    wakeAt(kind, stream, due) {
      const entry = find(kind, stream);
      if (entry !== undefined) wake(entry, due);
    },
    async signal(kind, stream, message) {
      await store.send(stream, message);
      dispatch(kind, stream);
    },
    schedule: schedules.add,
    isFull: () => false,
    idle,
    busy: () => inHand().map(({ kind, stream }) => ({ kind, stream })),
    nextDue: alarm.next,
    async close() {
      unheard();
      schedules.close();
      alarm.close();
      stopWith(closing, engineClosed());
      fresh = [];
      waiting.clear();
      await idle();
      entries.clear();
    },
  };
}

const nothing = () => undefined;

const keyOf = (kind: StreamKind, stream: string) => `${kind} ${stream}`;

const workTaken = (kind: StreamKind) =>
  new RuntimeError('engine_misused', `Somebody works on streams of kind "${kind}" already.`, {
    hint: 'Call onWork once for each kind.',
  });

export const workMissing = (kind: StreamKind, stream: string) =>
  new RuntimeError('engine_misused', `Nobody works on streams of kind "${kind}", as "${stream}" is one.`, {
    hint: 'Call onWork for the kind before anything is placed.',
  });

const engineFull = (stream: string) =>
  new RuntimeError(
    'engine_full',
    `${MAX_STREAMS} streams are placed or due in this process: "${stream}" was left alone.`,
    { hint: 'It is on the log. This process continues it after a restart, or another process does.' },
  );

const engineClosed = () =>
  new RuntimeError('engine_closed', 'The process stops working on streams.', {
    hint: 'What was released continues at the next start.',
    retryable: true,
  });

interface Planned {
  readonly next: Timetable['next'];
  readonly fire: (due: number) => void;
}

export interface Schedules {
  /** As `Engine.schedule`. */
  add(name: string, schedule: Schedule, fire: (due: number) => void): () => void;
  close(): void;
}

function createSchedules(clock: Clock, onError: (thrown: unknown) => void): Schedules {
  const named = new Map<string, () => void>();
  const alarm = createAlarm<Planned>(clock, (planned, due) => {
    try {
      plan(planned, clock.now());
      planned.fire(due);
    } catch (thrown) {
      onError(thrown);
    }
  });

  const plan = (planned: Planned, after: number) => {
    const due = planned.next(after);
    if (due !== undefined) alarm.set(planned, due);
  };

  return {
    add(name, schedule, fire) {
      const now = clock.now();
      let ended = false;
      let planned: Planned | undefined;
      const begin = ({ next }: Timetable) => {
        if (ended) return;
        planned = { next, fire };
        plan(planned, now);
      };
      const end = () => {
        ended = true;
        if (planned !== undefined) alarm.delete(planned);
        if (named.get(name) === end) named.delete(name);
      };
      const every = 'everyMs' in schedule ? everyTimetable(name, schedule) : undefined;
      named.get(name)?.();
      named.set(name, end);
      if (every !== undefined) begin(every);
      else openTimetable(name, schedule).then(begin).catch(onError);
      return end;
    },
    close() {
      for (const end of [...named.values()]) end();
      alarm.close();
    },
  };
}

/** Calls back at times of the wall clock. */
export interface Alarm<Item> {
  set(item: Item, due: number): void;
  delete(item: Item): void;
  dueOf(item: Item): number | undefined;
  /** When the earliest is due. */
  next(): number | undefined;
  /** Forgets everything. */
  close(): void;
}

/**
 * The longest sleep. Timers count time that passes, not what the wall says: where that is set anew or the machine was
 * suspended, what has come due meanwhile is found after that long at the latest. A look takes microseconds.
 */
const LONGEST_SLEEP_MS = 5_000;

/** One timer, for the earliest of all that is due. */
export function createAlarm<Item>(clock: Clock, onDue: (item: Item, due: number) => void): Alarm<Item> {
  const heap = createDueHeap<Item>();
  let cancel: (() => void) | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let closed = false;

  const disarm = () => {
    cancel?.();
    cancel = undefined;
    armedFor = Number.POSITIVE_INFINITY;
  };
  const arm = () => {
    const next = heap.next();
    if (next === armedFor) return;
    disarm();
    if (next === undefined || closed) return;
    armedFor = next;
    cancel = clock.after(Math.min(Math.max(0, next - clock.now()), LONGEST_SLEEP_MS), wake);
  };
  const wake = () => {
    disarm();
    const now = clock.now();
    // What rings may be set anew, for a time that has come already: that rings after a turn of the event loop.
    const dueNow: { readonly item: Item; readonly due: number }[] = [];
    for (let each = heap.take(now); each !== undefined; each = heap.take(now)) dueNow.push(each);
    for (const { item, due } of dueNow) onDue(item, due);
    arm();
  };

  return {
    set(item, due) {
      if (closed) return;
      heap.set(item, due);
      arm();
    },
    delete(item) {
      heap.delete(item);
      arm();
    },
    dueOf: heap.dueOf,
    next: () => (closed ? undefined : heap.next()),
    close() {
      closed = true;
      disarm();
    },
  };
}

/** Things that are due at a time, the earliest first. */
export interface DueHeap<Item> {
  /** Puts it in, or moves it. */
  set(item: Item, due: number): void;
  delete(item: Item): void;
  dueOf(item: Item): number | undefined;
  /** When the earliest is due. */
  next(): number | undefined;
  /** Takes the earliest out if it is due by `now`. Of those that are due at one time, in no order. */
  take(now: number): { readonly item: Item; readonly due: number } | undefined;
}

/** A binary heap that knows where each item stands, so that one which is moved or deleted leaves nothing behind. */
export function createDueHeap<Item>(): DueHeap<Item> {
  const items: Item[] = [];
  const dues: number[] = [];
  const places = new Map<Item, number>();

  const put = (at: number, item: Item, due: number) => {
    items[at] = item;
    dues[at] = due;
    places.set(item, at);
  };
  const dueAt = (at: number) => dues[at] ?? Number.POSITIVE_INFINITY;

  const settle = (start: number, item: Item, due: number) => {
    let at = start;
    for (let above = (at - 1) >> 1; at > 0 && dueAt(above) > due; above = (at - 1) >> 1) {
      put(at, items[above] as Item, dueAt(above));
      at = above;
    }
    for (;;) {
      const left = 2 * at + 1;
      const least = dueAt(left + 1) < dueAt(left) ? left + 1 : left;
      if (dueAt(least) >= due) break;
      put(at, items[least] as Item, dueAt(least));
      at = least;
    }
    put(at, item, due);
  };

  const remove = (item: Item) => {
    const at = places.get(item);
    if (at === undefined) return;
    places.delete(item);
    const last = items.pop() as Item;
    const lastDue = dues.pop() as number;
    if (at < items.length) settle(at, last, lastDue);
  };

  return {
    set(item, due) {
      settle(places.get(item) ?? items.length, item, due);
    },
    delete: remove,
    dueOf(item) {
      const at = places.get(item);
      return at === undefined ? undefined : dues[at];
    },
    next: () => dues[0],
    take(now) {
      const [item, due] = [items[0], dues[0]];
      if (due === undefined || due > now) return undefined;
      remove(item as Item);
      return { item: item as Item, due };
    },
  };
}
