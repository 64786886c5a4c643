import { createHash } from 'node:crypto';
import type { InboxMessage, Store, StoredSnapshot, StreamFilter, StreamInfo } from '../store.ts';
import type { ListEntry, TableRow } from './upkeep.ts';

/** Streams of one tree; what has more is left alone. */
const MAX_TREE = 100_000;

/** A stream and all that it called, whoever called before what was called, the oldest first; undefined where that is too much. */
export async function treeOf(
  store: Pick<Store, 'list'>,
  root: StreamInfo,
  signal?: AbortSignal,
): Promise<readonly StreamInfo[] | undefined> {
  const tree = [root];
  const names = new Set([root.stream]);
  for (let at = 0; at < tree.length; at++) {
    const called: StreamInfo[] = [];
    for await (const page of listPages(store, { parent: (tree[at] as StreamInfo).stream }, signal))
      for (const info of page) {
        if (tree.length + called.length >= MAX_TREE) return undefined;
        if (!names.has(info.stream)) called.push(info);
        names.add(info.stream);
      }
    tree.push(...called.reverse());
  }
  return tree;
}

export interface EventPagesOptions {
  readonly from?: number;
  /** The last event that is wanted; what comes later is left out. */
  readonly through?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The events of a stream, about a megabyte at a time. */
export async function* eventPages(
  { upkeep }: Pick<Store, 'upkeep'>,
  stream: string,
  { from = 1, through = Number.MAX_SAFE_INTEGER, signal }: EventPagesOptions = {},
): AsyncGenerator<readonly string[], void> {
  for (let next: number | undefined = from; next !== undefined && next <= through; ) {
    signal?.throwIfAborted();
    const page: Awaited<ReturnType<typeof upkeep.page>> = await upkeep.page(stream, next);
    const wanted = page.events.slice(0, through - next + 1);
    if (wanted.length > 0) yield wanted;
    next = page.next;
  }
}

const PAGE = 500;

/** Where a copy notes that it is under way: no row of the store's own. */
export const COPY_TABLE = 'store.copy';

/** All rows of all tables, by table and key. */
export async function* allRows(
  { upkeep }: Pick<Store, 'upkeep'>,
  signal?: AbortSignal,
): AsyncGenerator<TableRow, void> {
  for (let last: TableRow | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly TableRow[] = await upkeep.rows({
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    for (const row of page) if (row.table !== COPY_TABLE) yield row;
    last = page.at(-1);
    if (last === undefined) return;
  }
}

/** The names of all lists. */
export async function* allLists(
  { upkeep }: Pick<Store, 'upkeep'>,
  signal?: AbortSignal,
): AsyncGenerator<string, void> {
  for (let last: string | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly string[] = await upkeep.lists({
      limit: PAGE,
      ...(last === undefined ? {} : { after: last }),
    });
    yield* page;
    last = page.at(-1);
    if (last === undefined) return;
  }
}

/** The entries of a list behind `after`, page by page. */
export async function* entryPages(
  { tables }: Pick<Store, 'tables'>,
  list: string,
  after = 0,
  signal?: AbortSignal,
): AsyncGenerator<readonly ListEntry[], void> {
  for (let last = after; ; ) {
    signal?.throwIfAborted();
    const page = await tables.entries(list, { after: last, limit: PAGE });
    if (page.length > 0) yield page;
    const end = page.at(-1);
    if (end === undefined) return;
    last = end.n;
  }
}

const LIST_PAGE = 500;

/** Streams, newest first, page by page. */
export async function* listPages(
  store: Pick<Store, 'list'>,
  filter: Omit<StreamFilter, 'before' | 'limit'> = {},
  signal?: AbortSignal,
): AsyncGenerator<readonly StreamInfo[], void> {
  for (let last: StreamInfo | undefined; ; ) {
    signal?.throwIfAborted();
    const page: readonly StreamInfo[] = await store.list({
      ...filter,
      limit: LIST_PAGE,
      ...(last === undefined ? {} : { before: last }),
    });
    if (page.length > 0) yield page;
    last = page.at(-1);
    if (last === undefined || page.length < LIST_PAGE) return;
  }
}

/** Names of all streams, oldest first: whoever called comes before what was called. */
export async function allStreams(
  store: Pick<Store, 'list'>,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const page of listPages(store, {}, signal)) for (const { stream } of page) names.push(stream);
  return names.reverse();
}

/** What a stream is besides its events. */
export type StreamFront = Omit<StreamInfo, 'owner' | 'head' | 'messages' | 'place'>;

/** The SHA-256 of a stream: the same in every store that has it as it is here. */
export interface StreamHash {
  event(line: string): void;
  snapshot(snapshot: StoredSnapshot): void;
  message(message: Omit<InboxMessage, 'id'>): void;
  /** As hexadecimal digits. */
  end(): string;
}

/** Over a line each for the front and for the hashes of its events, snapshots and messages, which are a line each. */
export function createStreamHash(front: StreamFront): StreamHash {
  const [events, snapshots, messages] = [createHash('sha256'), createHash('sha256'), createHash('sha256')];
  const { stream, kind, name, title, parent = null, status, due = null, createdAt, updatedAt } = front;
  return {
    event: (line) => void events.update(line).update('\n'),
    snapshot: ({ seq, body }) => void snapshots.update(`${JSON.stringify([seq, body])}\n`),
    message: ({ at, kind: asked, from, body }) =>
      void messages.update(`${JSON.stringify([at, asked, from, body])}\n`),
    end() {
      const whole = createHash('sha256');
      const names = [stream, kind, printed(name), printed(title), parent, status];
      const head = JSON.stringify([...names, due, createdAt, updatedAt]);
      whole.update(`${head}\n`);
      for (const part of [events, snapshots, messages]) whole.update(`${part.digest('hex')}\n`);
      return whole.digest('hex');
    },
  };
}

/** Not every home can keep a NUL in what people read: the sign for the unprintable stands for it. */
const printed = (text: string): string => text.replaceAll('\0', '\ufffd');

/** Reads all of it. */
export async function hashStream(
  store: Pick<Store, 'upkeep' | 'snapshots'>,
  info: StreamInfo,
  signal?: AbortSignal,
): Promise<string> {
  const hash = createStreamHash(info);
  for await (const page of eventPages(store, info.stream, { through: info.head, signal }))
    for (const line of page) hash.event(line);
  const snapshots = (await store.snapshots(info.stream)).filter(({ seq }) => seq <= info.head);
  for (const snapshot of snapshots) hash.snapshot(snapshot);
  for (const message of await store.upkeep.inbox(info.stream)) hash.message(message);
  return hash.end();
}
