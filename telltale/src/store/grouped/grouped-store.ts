import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { createListeners } from '../listeners.ts';
import type { OpenGraphs } from '../sqlite/graph/graph-store.ts';
import { createOpenOnce } from '../sqlite/graph/graph-store.ts';
import type { NewStream, Store, StreamHead, StreamInfo, StreamWriter, Tables, TableWrite } from '../store.ts';
import {
  checkMessage,
  checkName,
  inboxFull,
  MAX_INBOX_MESSAGES,
  notANumber,
  rowUnreadable,
  storeClosed,
  streamOwned,
} from '../store-errors.ts';
import type { Upkeep } from '../upkeep/upkeep.ts';
import { type CommitQueue, createCommitQueue, type Later } from './commit-queue.ts';
import { createGroupedWriter, toMessage } from './grouped-writer.ts';
import type {
  EncodedWrite,
  FromBackend,
  ListedStream,
  NotedOwner,
  ReadChunk,
  Results,
  ToBackend,
} from './messages.ts';
import { createWriterState, newWriterState, type WriterState } from './writer-state.ts';

export interface GroupedStoreDeps {
  readonly location: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly backend: StoreBackend;
  readonly view: OwnerView;
  /** Buries all owners that are dead, where that is more than giving up their streams. */
  readonly bury?: () => Promise<void>;
  /** Called when the graphs are first asked for, and again where that failed. */
  readonly openGraphs: () => Promise<OpenGraphs>;
}

const LIST_CHUNK = 1000;
/** How many owners may die in succession while a stream is being taken. */
const MAX_TAKEOVERS = 10;
const ALL = Number.MAX_SAFE_INTEGER;

export function createGroupedStore(deps: GroupedStoreDeps): Store {
  const { location, clock, backend, view } = deps;
  const watchers = createListeners<string>(
    (stream) => backend.post({ kind: 'watch', stream, on: true }),
    (stream) => backend.post({ kind: 'watch', stream, on: false }),
  );
  const wakers = createListeners<string>(
    () => undefined,
    () => undefined,
  );
  const queue = createCommitQueue({
    location,
    now: () => clock.now(),
    post: backend.post,
    hold: backend.hold,
    letGo: backend.letGo,
    moved: watchers.call,
  });
  const graphs = createOpenOnce(deps.openGraphs, location);
  let closing: Promise<void> | undefined;

  const received = (message: FromBackend) => {
    switch (message.kind) {
      case 'committed':
      case 'written':
      case 'failed':
      case 'answers':
        queue.replied(message);
        return;
      case 'moved':
        for (const stream of message.streams) watchers.call(stream);
        return;
      case 'woken':
        for (const stream of message.streams) wakers.call(stream);
        return;
      case 'opened':
      case 'refused':
      case 'closed': // they are the backend's own affair
    }
  };
  backend.listen({ received, died: queue.fail });

  /** Clears away what processes that were killed have left: their claims and sockets. */
  const buryTheDead = async () => {
    if (deps.bury !== undefined) return deps.bury();
    for (const owner of await queue.read({ op: 'owners' }))
      if (!view.isAlive(owner)) await queue.write({ op: 'dissolve', owner: owner.id });
  };
  let hasBuried = false;

  const writerOf = (state: WriterState): StreamWriter => createGroupedWriter({ queue, state, wakers });

  const haveBuried = () => {
    if (hasBuried) return;
    hasBuried = true;
    buryTheDead().catch(() => undefined); // nobody waits for it, and the next process will try again
  };

  const begin = (stream: string, head: StreamHead, later: Later): NewStream => {
    const state = newWriterState(stream);
    try {
      checkName('A stream', stream);
    } catch (error) {
      state.refusal = toRuntimeError(error);
    }
    const made =
      state.refusal === undefined ? queue.create(state, head, later) : Promise.reject(state.refusal);
    state.made = made;
    made.then(
      () => {
        state.made = undefined; // it has its number
        haveBuried();
      },
      () => undefined,
    );
    return { writer: writerOf(state), made };
  };

  const toInfo = ({ id: place, owner, ...listed }: ListedStream): StreamInfo => {
    const info = { ...listed, place };
    if (owner === null || !view.isAlive(owner)) return info;
    const { pid, startedAt, epoch } = owner;
    return { ...info, owner: { pid, startedAt, epoch } };
  };

  const isSelf = (owner: NotedOwner) =>
    owner.pid === view.self.pid && (view.hostOf === undefined || view.hostOf(owner) === view.self.host);

  /** Tries again without an owner that turns out to be dead; another may have been quicker and is then looked at. */
  const acquire = async (stream: string, restoring = false): Promise<StreamWriter> => {
    let dead: number | null = null;
    let buried: number | undefined;
    for (let left = MAX_TAKEOVERS; ; left--) {
      const taken: Results['acquire'] = await queue.write({ op: 'acquire', stream, dead, restoring });
      if (!('ownedBy' in taken)) {
        haveBuried();
        return writerOf(createWriterState(stream, taken));
      }
      const owner: NotedOwner = taken.ownedBy;
      if (left === 0 || view.isAlive(owner) || owner.id === buried)
        throw streamOwned(stream, owner.pid, isSelf(owner), view.hostOf?.(owner));
      if (deps.bury === undefined) dead = owner.id;
      else {
        await deps.bury();
        buried = owner.id;
      }
    }
  };

  return {
    location,
    tables: createGroupedTables(queue, clock),
    graphs: graphs.open,
    async create(stream, head) {
      const { writer, made } = begin(stream, head, queueMicrotask);
      await made;
      return writer;
    },
    // Later than the microtasks of its caller, in which the first events are made.
    begin: (stream, head) => begin(stream, head, setImmediate),
    acquire: (stream) => acquire(stream),
    upkeep: createGroupedUpkeep({ queue, view, acquire: (stream) => acquire(stream, true) }),
    read: (stream, { from = 1, limit = ALL } = {}) => readEvents(queue, stream, from, limit),
    snapshots: (stream) => queue.read({ op: 'snapshots', stream }),
    async info(stream) {
      const found = await queue.read({ op: 'info', stream });
      return found === null ? undefined : toInfo(found);
    },
    async list({ kind, status, name, parent, before: behind, limit = ALL } = {}) {
      const found: StreamInfo[] = [];
      let before = behind?.place ?? null;
      for (;;) {
        const chunk: readonly ListedStream[] = await queue.read({
          op: 'list',
          kind: kind ?? null,
          status: status ?? null,
          name: name ?? null,
          parent: parent ?? null,
          before,
          limit: Math.min(Math.max(0, limit - found.length), LIST_CHUNK),
        });
        for (const one of chunk) found.push(toInfo(one));
        before = chunk.at(-1)?.id ?? null;
        if (chunk.length < LIST_CHUNK || found.length >= limit) return found;
      }
    },
    async send(stream, { kind, from, body }) {
      const message = JSON.stringify({ kind, from, body });
      checkMessage(stream, message);
      const id = await queue.write({ op: 'send', stream, message });
      wakers.call(stream);
      watchers.call(stream);
      return id;
    },
    watch: (stream, moved) => watchers.add(stream, moved),
    close() {
      closing ??= Promise.all([queue.shut(storeClosed(location)), graphs.close()]).then(backend.close);
      return closing;
    },
  };
}

/** Events of a stream, chunk by chunk, so that others' commits come in between. */
async function readEvents(
  queue: CommitQueue,
  stream: string,
  from: number,
  limit: number,
): Promise<readonly string[]> {
  const events: string[] = [];
  const start = Math.max(1, from);
  let next: number | null = start;
  while (next !== null && events.length < limit) {
    const left: number = limit - events.length;
    const chunk: ReadChunk = await queue.read({ op: 'read', stream, from: next, limit: left });
    const lines = chunk.bodies.flatMap((body) => body.split('\n'));
    for (let place = next - chunk.first; place < lines.length && events.length < limit; place++)
      events.push(lines[place] ?? '');
    next = chunk.next;
  }
  return events;
}

const ALL_ROWS = Number.MAX_SAFE_INTEGER;

const encoded = ({ table, key, value }: TableWrite): EncodedWrite => [
  table,
  key,
  value === undefined ? null : JSON.stringify(value),
];

function createGroupedTables(queue: CommitQueue, clock: Pick<Clock, 'now'>): Tables {
  const checkKey = (table: string, key: string) => {
    checkName('A table', table);
    checkName('A key', key);
  };
  return {
    async get(table, key) {
      checkKey(table, key);
      const value = await queue.read({ op: 'get', table, key });
      return value === null ? undefined : (JSON.parse(value) as Json);
    },
    async set(table, key, value, { ttlMs } = {}) {
      checkKey(table, key);
      const expiresAt = ttlMs === undefined ? null : clock.now() + ttlMs;
      await queue.write({ op: 'set', table, key, value: JSON.stringify(value), expiresAt });
    },
    async delete(table, key) {
      checkKey(table, key);
      return queue.write({ op: 'delete', table, key });
    },
    async keys(table, { prefix = '', after = '', limit = ALL_ROWS } = {}) {
      checkName('A table', table);
      return queue.read({ op: 'keys', table, prefix, after, limit: Math.max(0, limit) });
    },
    async increment(table, key, by) {
      checkKey(table, key);
      if (!Number.isFinite(by)) throw notANumber(table, key);
      return queue.write({ op: 'increment', table, key, by });
    },
    async exchange(expected, writes) {
      for (const { table, key } of [...expected, ...writes]) checkKey(table, key);
      return queue.write({
        op: 'exchange',
        expected: expected.map(encoded),
        writes: writes.map(
          (write) =>
            [...encoded(write), write.ttlMs === undefined ? null : clock.now() + write.ttlMs] as const,
        ),
      });
    },
    async push(list, value) {
      checkName('A list', list);
      return queue.write({ op: 'push', list, value: JSON.stringify(value) });
    },
    async entries(list, { after = 0, last, limit = ALL_ROWS } = {}) {
      checkName('A list', list);
      const rows = await queue.read({
        op: 'entries',
        list,
        after,
        last: last === undefined ? null : Math.max(0, last),
        limit: Math.max(0, limit),
      });
      return rows.map(({ n, at, value }) => ({ n, at, value: JSON.parse(value) as Json }));
    },
  };
}

export interface GroupedUpkeepDeps {
  readonly queue: CommitQueue;
  readonly view: OwnerView;
  readonly acquire: Upkeep['acquire'];
}

const GROUPED_UPKEEP_ALL = Number.MAX_SAFE_INTEGER;

function createGroupedUpkeep({ queue, view, acquire }: GroupedUpkeepDeps): Upkeep {
  return {
    acquire,
    async describe() {
      const { owners, ...rest } = await queue.read({ op: 'describe' });
      const shown = owners.map(({ owner, streams }) => ({
        pid: owner.pid,
        startedAt: owner.startedAt,
        alive: view.isAlive(owner),
        streams,
      }));
      return { ...rest, owners: shown };
    },
    async page(stream, from) {
      const start = Math.max(1, from);
      const { first, bodies, next } = await queue.read({
        op: 'read',
        stream,
        from: start,
        limit: GROUPED_UPKEEP_ALL,
      });
      const lines = bodies.flatMap((body) => body.split('\n')).slice(start - first);
      return { events: lines, ...(next === null ? {} : { next }) };
    },
    inbox: async (stream) => (await queue.read({ op: 'inbox', stream })).map(toMessage),
    weigh: (stream) => queue.read({ op: 'weigh', stream }),
    async settle(stream, epoch, { status, due, createdAt, updatedAt, messages }) {
      if (messages.length > MAX_INBOX_MESSAGES) throw inboxFull(stream, MAX_INBOX_MESSAGES);
      const encoded = messages.map(({ at, kind, from, body }) => {
        const message = JSON.stringify({ kind, from, body });
        checkMessage(stream, message);
        return [at, message] as const;
      });
      await queue.write({
        op: 'settle',
        stream,
        epoch,
        status,
        due: due ?? null,
        createdAt,
        updatedAt,
        messages: encoded,
      });
    },
    async remove(stream, epoch) {
      await queue.write({ op: 'remove', stream, epoch });
    },
    async rows({ after, limit }) {
      const behind = after === undefined ? null : ([after.table, after.key] as const);
      const found = await queue.read({ op: 'rows', after: behind, limit: Math.max(1, limit) });
      return found.map(({ table, key, value, expiresAt }) => ({
        table,
        key,
        value: parsed(table, key, value),
        ...(expiresAt === null ? {} : { expiresAt }),
      }));
    },
    lists: ({ after = '', limit }) => queue.read({ op: 'lists', after, limit: Math.max(1, limit) }),
    async enter(list, first, entries) {
      checkName('A list', list);
      const encoded = entries.map(({ at, value }) => [at, JSON.stringify(value)] as const);
      await queue.write({ op: 'enter', list, first, entries: encoded });
    },
    examine: () => queue.read({ op: 'examine' }),
    checksums: () => queue.read({ op: 'checksums' }),
    async compact() {
      const { owners, bytes } = await queue.read({ op: 'describe' });
      const isShared = owners.some(({ owner }) => owner.pid !== view.self.pid && view.isAlive(owner));
      if (isShared) return { beforeBytes: bytes, afterBytes: bytes, left: 'in_use' };
      return queue.read({ op: 'compact' });
    },
  };
}

function parsed(table: string, key: string, value: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch (thrown) {
    throw rowUnreadable(table, key, thrown);
  }
}

export interface BackendListener {
  received(message: FromBackend): void;
  /** It ended without being asked to. */
  died(error: RuntimeError): void;
}

/** What keeps a store. It gets one group at a time, and answers writes before reads. */
export interface StoreBackend {
  listen(listener: BackendListener): void;
  post(message: ToBackend): void;
  /** The process stays for what is under way; `letGo`: it may end. */
  hold(): void;
  letGo(): void;
  /** Gives up what this store owns, and closes. */
  close(): Promise<void>;
}

/** Who this store is, and which other owners of streams are alive. */
export interface OwnerView {
  readonly self: { readonly pid: number; readonly host?: string };
  isAlive(owner: NotedOwner): boolean;
  /** Where owners may be on other machines. */
  hostOf?(owner: NotedOwner): string;
}
