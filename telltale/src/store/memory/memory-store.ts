import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { GraphStore } from '../graph.ts';
import { createGraphStore } from '../sqlite/graph/graph-store.ts';
import type { Append, Store, StreamHead, StreamInfo, StreamOwner, StreamWriter } from '../store.ts';
import {
  checkMessage,
  checkName,
  inboxFull,
  MAX_INBOX_MESSAGES,
  storeClosed,
  streamExists,
  streamLost,
  streamMoved,
  streamOwned,
  streamReleased,
  streamRestoring,
  streamUnknown,
} from '../store-errors.ts';
import { joinAppend } from '../stream-batches.ts';
import { RESTORING } from '../upkeep/upkeep.ts';
import {
  addRow,
  createMemoryHome,
  createMemoryRows,
  createMemoryTables,
  type MemoryHome,
  type MemoryStream,
  readRows,
  writeValue,
} from './memory-tables.ts';
import { createMemoryUpkeep } from './memory-upkeep.ts';

export interface MemoryStoreOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** What the store has in it; one of its own by default. */
  readonly home?: MemoryHome;
  readonly pid?: number;
  /** Whether the owner of a stream, noted in the home, is alive; he is unless this says otherwise. */
  readonly isAlive?: (owner: StreamOwner) => boolean;
}

const LOCATION = 'memory';

/** The whole contract without a file: for tests, and for runs that nobody wants to keep. */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const { clock, home = createMemoryHome(), pid = 0, isAlive = () => true } = options;
  const settling = createSettling(home.watchers.call);
  const owned = new Map<MemoryStream, StreamOwner>();
  let isClosed = false;

  const closed = () => (isClosed ? storeClosed(LOCATION) : undefined);
  const refuse = () => {
    const why = closed();
    if (why !== undefined) throw why;
  };
  const find = (name: string): MemoryStream => {
    refuse();
    const stream = home.streams.get(name);
    if (stream === undefined) throw streamUnknown(name);
    return stream;
  };
  const forWriters = { home, clock, settling, owned, closed };
  const take = (stream: MemoryStream, unmake?: Unmake): StreamWriter => {
    stream.epoch++;
    const owner: StreamOwner = { pid, startedAt: 0, epoch: stream.epoch };
    stream.owner = owner;
    owned.set(stream, owner);
    return createMemoryWriter(forWriters, stream, owner, unmake);
  };
  const make = (name: string, head: StreamHead): MemoryStream => {
    refuse();
    checkName('A stream', name);
    if (home.streams.has(name)) throw streamExists(name);
    const now = clock.now();
    const stream: MemoryStream = {
      stream: name,
      place: ++home.places,
      head,
      status: head.status,
      due: undefined,
      createdAt: now,
      updatedAt: now,
      epoch: 0,
      owner: undefined,
      events: createMemoryRows(),
      snapshots: [],
      inbox: [],
    };
    home.streams.set(name, stream);
    return stream;
  };
  const infoOf = ({
    stream,
    place,
    head,
    status,
    createdAt,
    updatedAt,
    events,
    owner,
    inbox,
    due,
  }: MemoryStream): StreamInfo => ({
    ...head,
    stream,
    place,
    status,
    createdAt,
    updatedAt,
    head: events.length,
    ...(owner === undefined || !isAlive(owner) ? {} : { owner }),
    ...(inbox.length === 0 ? {} : { messages: inbox.length }),
    ...(due === undefined ? {} : { due }),
  });

  const acquire = (name: string): StreamWriter => {
    const stream = find(name);
    const { owner } = stream;
    if (owner !== undefined && isAlive(owner)) throw streamOwned(name, owner.pid, owner.pid === pid);
    return take(stream);
  };

  return {
    location: LOCATION,
    tables: createMemoryTables(home, clock, refuse),
    async graphs() {
      refuse();
      return guardGraphs(await openHomeGraphs(home), refuse);
    },
    create: async (name, head) => take(make(name, head)),
    begin(name, head) {
      try {
        const stream = make(name, head);
        let end: RuntimeError | 'made' | undefined;
        const writer = take(stream, (why) => {
          if (end !== undefined) return false;
          end = why;
          home.streams.delete(name);
          owned.delete(stream);
          return true;
        });
        const made = new Promise<void>((resolve, reject) => {
          const told = () => {
            if (end !== undefined) return reject(end);
            end = 'made';
            resolve();
          };
          // Behind its first append, which comes in a microtask of its own.
          settling.settle(() => settling.settle(told, undefined, undefined), undefined, undefined);
        });
        made.catch(() => undefined); // the appends say so as well
        return { writer, made };
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        const made = Promise.reject(error);
        made.catch(() => undefined); // the appends say so as well
        return { writer: refusedWriter(name, error, settling), made };
      }
    },
    async acquire(name) {
      if (find(name).status === RESTORING) throw streamRestoring(name);
      return acquire(name);
    },
    upkeep: createMemoryUpkeep({ home, clock, find, refuse, isAlive, acquire }),
    async read(name, { from = 1, limit = Number.MAX_SAFE_INTEGER } = {}) {
      const first = Math.max(1, from) - 1;
      return readRows(find(name).events, first, Math.max(0, limit));
    },
    snapshots: async (name) => [...find(name).snapshots],
    async info(name) {
      refuse();
      const stream = home.streams.get(name);
      return stream === undefined ? undefined : infoOf(stream);
    },
    async list({ kind, status, name, parent, before, limit = Number.MAX_SAFE_INTEGER } = {}) {
      refuse();
      const all = [...home.streams.values()].reverse();
      const fits = ({ head, place, status: own }: MemoryStream) =>
        (before === undefined || place < before.place) &&
        (kind === undefined || head.kind === kind) &&
        (status === undefined || status.includes(own)) &&
        (name === undefined || head.name === name) &&
        (parent === undefined || head.parent === parent);
      return all.filter(fits).slice(0, Math.max(0, limit)).map(infoOf);
    },
    async send(name, { kind, from, body }) {
      const stream = find(name);
      checkMessage(name, JSON.stringify({ kind, from, body }));
      if (stream.inbox.length >= MAX_INBOX_MESSAGES) throw inboxFull(name, MAX_INBOX_MESSAGES);
      const id = ++home.messages;
      stream.inbox.push({ id, at: clock.now(), kind, from, body: JSON.parse(JSON.stringify(body)) as Json });
      home.wakers.call(name);
      home.watchers.call(name);
      return id;
    },
    watch: (name, moved) => home.watchers.add(name, moved),
    async close() {
      isClosed = true;
      for (const [stream, owner] of owned) if (stream.owner === owner) stream.owner = undefined;
      owned.clear();
      await settling.settled();
    },
  };
}

const SETTINGS = { path: null, durability: 'process', lockTimeoutMs: 0, maxPages: null } as const;

/** The home's graphs: a SQLite database in memory, which is loaded when the first of its stores asks. */
function openHomeGraphs(home: MemoryHome): Promise<GraphStore> {
  home.graphs ??= import('../sqlite/graph/serve-graph-here.ts').then(
    ({ serveGraphHere }) => serveGraphHere(SETTINGS, 'memory').graphs,
  );
  return home.graphs;
}

/** One store's view of them: they outlive it, but it answers no more when it is closed. */
function guardGraphs(graphs: GraphStore, refuse: () => void): GraphStore {
  return createGraphStore(async (op, ...args) => {
    refuse();
    return (graphs[op] as (...args: unknown[]) => Promise<never>)(...args);
  });
}

/** Of a stream that is being begun: it is not there where its first append is refused. False once it is begun. */
export type Unmake = (why: RuntimeError) => boolean;

/** What all writers of a store have. */
export interface MemoryWriterDeps {
  readonly home: MemoryHome;
  readonly clock: Pick<Clock, 'now'>;
  readonly settling: Settling;
  /** What the store writes; no longer a stream that is let go. */
  readonly owned: Map<MemoryStream, StreamOwner>;
  /** Why the store takes nothing more. */
  readonly closed: () => RuntimeError | undefined;
}

interface MemoryWriterState {
  readonly stream: MemoryStream;
  readonly owner: StreamOwner;
  refusal: RuntimeError | undefined;
  released: boolean;
  unmake: Unmake | undefined;
}

/** A writer whose methods need no `this`: callers copy it to wrap some of them. */
function createMemoryWriter(
  deps: MemoryWriterDeps,
  stream: MemoryStream,
  owner: StreamOwner,
  unmake: Unmake | undefined,
): StreamWriter {
  const { home, owned, settling } = deps;
  const { stream: name } = stream;
  const state: MemoryWriterState = { stream, owner, refusal: undefined, released: false, unmake };
  return {
    stream: name,
    epoch: owner.epoch,
    head: stream.events.length,
    append(lines, settled) {
      try {
        const why = state.refusal ?? (state.released ? streamReleased(name) : deps.closed());
        if (why !== undefined) throw why;
        write(deps, state, lines);
        state.unmake = undefined;
        settling.settle(settled, undefined, lines.events.length > 0 ? name : undefined);
      } catch (error) {
        const why = toRuntimeError(error);
        if (state.unmake?.(why) === true) state.refusal = why;
        settling.settle(settled, why, undefined);
      }
    },
    snapshot(seq, body) {
      if (state.released || state.refusal !== undefined) return;
      if (stream.epoch !== owner.epoch || seq > stream.events.length) return;
      const others = stream.snapshots.filter((other) => other.seq !== seq);
      stream.snapshots = [...others, { seq, body }].sort((a, b) => a.seq - b.seq);
    },
    inbox: async () => [...stream.inbox],
    onWake: (wake) => home.wakers.add(name, wake, state),
    async release() {
      home.wakers.drop(name, state);
      state.released = true;
      if (owned.get(stream) === owner) owned.delete(stream);
      if (stream.epoch === owner.epoch) stream.owner = undefined;
      await settling.settled();
    },
  };
}

function write({ home, clock }: MemoryWriterDeps, state: MemoryWriterState, lines: Append): void {
  const { stream, owner } = state;
  const { expectedSeq, events, status, due, consumed, writes } = lines;
  const body = joinAppend(stream.stream, lines);
  if (stream.epoch !== owner.epoch) state.refusal = streamLost(stream.stream, owner.epoch);
  else if (stream.events.length !== expectedSeq)
    state.refusal = streamMoved(stream.stream, expectedSeq, stream.events.length);
  if (state.refusal !== undefined) throw state.refusal;
  addRow(stream.events, body, events.length);
  stream.updatedAt = clock.now();
  if (status !== undefined) {
    stream.status = status;
    stream.due = due;
  }
  if (consumed !== undefined) stream.inbox = stream.inbox.filter(({ id }) => !consumed.includes(id));
  for (const { table, key, value } of writes ?? [])
    writeValue(
      home,
      table,
      key,
      value === undefined ? undefined : { json: JSON.stringify(value), expiresAt: undefined },
    );
}

/** Of a stream that could not be made. */
const refusedWriter = (stream: string, error: RuntimeError, settling: Settling): StreamWriter => ({
  stream,
  epoch: 1,
  head: 0,
  append: (_append, settled) => settling.settle(settled, error, undefined),
  snapshot: () => undefined,
  inbox: async () => [],
  onWake: () => () => undefined,
  release: () => settling.settled(),
});

/** Tells callers of appends what became of them: in order, after they have returned, and without a turn of the loop. */
export interface Settling {
  /** `moved` is the stream that has new events. */
  settle(
    call: (error?: RuntimeError) => void,
    error: RuntimeError | undefined,
    moved: string | undefined,
  ): void;
  /** Resolves when all up to now have been told. */
  settled(): Promise<void>;
}

interface MemoryStoreSettled {
  readonly call: (error?: RuntimeError) => void;
  readonly error: RuntimeError | undefined;
  readonly stream: string | undefined;
}

function createSettling(moved: (stream: string) => void): Settling {
  let calls: MemoryStoreSettled[] = [];

  const run = () => {
    const due = calls;
    calls = [];
    for (const { call, error, stream } of due) {
      try {
        call(error);
        if (stream !== undefined) moved(stream);
      } catch (thrown) {
        // A caller's bug is his own, not his neighbors': it surfaces as an uncaught exception.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  };
  const settle: Settling['settle'] = (call, error, stream) => {
    if (calls.push({ call, error, stream }) === 1) queueMicrotask(run);
  };

  return {
    settle,
    settled: () => new Promise((resolve) => settle(() => resolve(), undefined, undefined)),
  };
}
