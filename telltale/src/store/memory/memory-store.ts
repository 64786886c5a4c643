import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { checkMessage, checkName, MAX_INBOX_MESSAGES } from '../limits.ts';
import type { Store, StreamHead, StreamInfo, StreamOwner, StreamWriter } from '../store.ts';
import {
  inboxFull,
  storeClosed,
  streamExists,
  streamOwned,
  streamRestoring,
  streamUnknown,
} from '../store-errors.ts';
import { RESTORING } from '../upkeep/upkeep.ts';
import { guardGraphs, openHomeGraphs } from './memory-graphs.ts';
import { createMemoryHome, type MemoryHome, type MemoryStream } from './memory-home.ts';
import { createMemoryRows, readRows } from './memory-rows.ts';
import { createMemoryTables } from './memory-tables.ts';
import { createMemoryUpkeep } from './memory-upkeep.ts';
import { createMemoryWriter, refusedWriter, type Unmake } from './memory-writer.ts';
import { createSettling } from './settling.ts';

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
