import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { BackendListener, StoreBackend } from '../grouped/grouped-store.ts';
import type {
  AppendOp,
  FromBackend,
  Outcome,
  ReadOutcome,
  ReadRequest,
  ToBackend,
} from '../grouped/messages.ts';
import { MAX_QUEUED, storeOverloaded } from '../store-errors.ts';
import { isAppend, type Write } from './group/encode-call.ts';
import type { GroupOutcomes } from './group/run-group.ts';
import type { Attention, DoubtfulStreams, OwnStreams } from './ownership.ts';
import type { ReadRows } from './reads/read-rows.ts';
import type { WriterLink } from './writer-link.ts';

export interface BackendDeps {
  readonly location: string;
  readonly outlet: Outlet;
  readonly link: WriterLink;
  readonly runGroup: (writes: readonly Write[], now: number) => Promise<GroupOutcomes>;
  readonly read: ReadRows;
  readonly describe: (thrown: unknown) => RuntimeError;
  readonly own: OwnStreams;
  readonly attention: Attention;
  readonly doubtful: DoubtfulStreams;
  /** How often doubtful streams are looked at. */
  readonly lookMs: number;
  /** Streams of this store that have new events, with the last of each. */
  readonly moved: (streams: ReadonlyMap<string, number>) => void;
  /** Gives up what is owned and closes all connections. */
  readonly close: () => Promise<void>;
}

/** Where everything goes that is said to the store. */
export interface Outlet {
  listen(listener: BackendListener): void;
  readonly tell: (message: FromBackend) => void;
}

export function createOutlet(): Outlet {
  let listener: BackendListener | undefined;
  return {
    listen(to) {
      listener = to;
    },
    tell: (message) => listener?.received(message),
  };
}

const UNANSWERED = 'store_unreachable';
const TAKING: ReadonlySet<string> = new Set(['create', 'acquire']);
const isUnanswered = (outcome: Outcome | undefined): boolean =>
  outcome !== undefined && 'error' in outcome && outcome.error.code === UNANSWERED;
const nameOf = (item: Exclude<Write, AppendOp>): string => ('stream' in item ? String(item.stream) : '');

type PostgresBackendGroup = Extract<ToBackend, { readonly kind: 'group' }>;

/** Writes over one connection, in the order of the groups; reads over others, once what was asked before is committed. */
export function createPostgresBackend(deps: BackendDeps): StoreBackend {
  const { link, runGroup, read, describe, own, attention, doubtful } = deps;
  const { listen, tell } = deps.outlet;
  const reading = new Set<Promise<unknown>>();
  let isWriting = false;
  let clearing: Promise<void> | undefined;
  let looking: ReturnType<typeof setInterval> | undefined;

  const clearDoubts = () => {
    if (isWriting || clearing !== undefined) return;
    if (doubtful.isEmpty()) {
      clearInterval(looking);
      looking = undefined;
      return;
    }
    clearing = doubtful
      .giveUp()
      .catch(() => undefined) // the database is away: the next look comes soon
      .finally(() => {
        clearing = undefined;
      });
  };

  /** Whether it was done is not known where no answer came. */
  const doubt = (writes: readonly Write[]) => {
    doubtful.add(writes.flatMap((item) => (!isAppend(item) && TAKING.has(item.op) ? [nameOf(item)] : [])));
    if (!doubtful.isEmpty()) looking ??= setInterval(clearDoubts, deps.lookMs).unref();
  };

  const write = async ({ writes, now }: PostgresBackendGroup): Promise<void> => {
    const sends = writes.some((item) => !isAppend(item) && item.op === 'send');
    if (clearing !== undefined) await clearing;
    if (sends) attention.sending(true);
    isWriting = true;
    let outcomes: GroupOutcomes;
    try {
      outcomes = await runGroup(writes, now);
    } catch (error) {
      const why = toRuntimeError(error);
      if (why.code === UNANSWERED) doubt(writes);
      return tell({ kind: 'failed', error: why.toJSON() });
    } finally {
      isWriting = false;
      if (sends) attention.sending(false);
    }
    doubt(writes.filter((_, place) => isUnanswered(outcomes.get(place))));
    const moved = own.committed(writes, outcomes);
    for (const [stream, head] of moved) attention.committed(stream, head);
    tell(outcomes.size === 0 ? { kind: 'committed' } : { kind: 'written', outcomes: [...outcomes] });
    deps.moved(moved);
  };

  /** No write waits for it: it goes over a connection of its own. */
  const answer = (request: ReadRequest, now: number): ReadOutcome => {
    if (reading.size >= MAX_QUEUED)
      return { error: storeOverloaded(deps.location, `${reading.size} reads`).toJSON() };
    const later = read(request, now).catch((error: unknown) => {
      throw describe(error);
    });
    const over = later.then(
      () => undefined,
      () => undefined, // whoever asked is told
    );
    reading.add(over);
    void over.then(() => reading.delete(over));
    return { later };
  };

  const perform = async (group: PostgresBackendGroup): Promise<void> => {
    if (group.writes.length > 0) await write(group);
    else await undefined; // whoever posted it expects no answer before that returns
    if (group.reads.length > 0)
      tell({ kind: 'answers', outcomes: group.reads.map((request) => answer(request, group.now)) });
  };

  return {
    listen,
    post(message) {
      switch (message.kind) {
        case 'group':
          void perform(message);
          return;
        case 'watch':
          attention.watch(message.stream, message.on);
          return;
        case 'close': // `close` below is asked instead
      }
    },
    hold: () => link.hold(true),
    letGo: () => link.hold(false),
    async close() {
      clearInterval(looking);
      await clearing;
      await Promise.all(reading);
      await deps.close();
    },
  };
}
