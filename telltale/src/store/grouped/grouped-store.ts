import type { Clock } from '../../kernel/clock.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { checkMessage, checkName } from '../limits.ts';
import { createListeners } from '../listeners.ts';
import type { OpenGraphs } from '../sqlite/graph/graph-store.ts';
import { createOpenOnce } from '../sqlite/graph/open-once.ts';
import type { NewStream, Store, StreamHead, StreamInfo, StreamWriter } from '../store.ts';
import { storeClosed, streamOwned } from '../store-errors.ts';
import type { OwnerView, StoreBackend } from './backend.ts';
import { createCommitQueue, type Later } from './commit-queue.ts';
import { createGroupedTables } from './grouped-tables.ts';
import { createGroupedUpkeep } from './grouped-upkeep.ts';
import { createGroupedWriter } from './grouped-writer.ts';
import type { FromBackend, ListedStream, NotedOwner, Results } from './messages.ts';
import { readEvents } from './read-events.ts';
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
