import type { Store, StreamInfo } from '../store.ts';
import {
  copyDiffers,
  copyIsHalf,
  copyIsOwned,
  copyNotEmpty,
  copyOfAnother,
  copyOntoItself,
} from './append-committed.ts';
import { sharedEntries } from './copy-lists.ts';
import { allLists, allRows, COPY_TABLE, eventPages, hashStream, listPages } from './pages.ts';
import { RESTORING, type TableRow } from './upkeep.ts';
import { sameValue } from './verify-stream.ts';

export interface CopyPlanOptions {
  readonly merge: boolean;
  readonly running: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onLooked: (streams: number) => void;
}

export interface CopyPlan {
  readonly marker: CopyMarker;
  /** Oldest first; `isNew`: the copy has none of that name. */
  readonly streams: readonly { readonly stream: string; readonly isNew: boolean }[];
  /** Streams that are there already, the same. */
  readonly same: readonly string[];
  /** Streams that somebody works on. */
  readonly running: ReadonlySet<string>;
}

/** Looks at both stores, and throws what stands in the way. Nothing is written before it has returned. */
export async function planCopy(from: Store, to: Store, options: CopyPlanOptions): Promise<CopyPlan> {
  const { signal, onLooked } = options;
  if (from.location === to.location) throw copyOntoItself(from.location);
  const before = await readCopyMarker(to);
  if (before !== undefined && before.from !== from.location) throw copyOfAnother(to.location, before.from);
  const isGoingOn = before?.from === from.location;
  if (!isGoingOn && !options.merge) await refuseFull(to);
  const marker = { from: from.location, merge: options.merge || (isGoingOn && before.merge) };

  const [owned, half, differs] = [createNamedFew(), createNamedFew(), createNamedFew()];
  const running = new Set<string>();
  const streams: { stream: string; isNew: boolean }[] = [];
  const same: string[] = [];
  for await (const page of listPages(from, {}, signal))
    for (const info of page) {
      const { stream, owner, status } = info;
      if (status === RESTORING) half.add(stream);
      if (owner !== undefined) {
        owned.add(`${stream} (process ${owner.pid})`);
        running.add(stream);
      }
      const there = await to.info(stream);
      const likeness = there === undefined ? undefined : await compareStreams(from, info, to, there, signal);
      if (likeness === 'same') same.push(stream);
      // What is behind is brought up to date only in a copy of this very store: elsewhere it is another's affair.
      else if (likeness === 'other' || (likeness === 'behind' && !isGoingOn) || there?.owner !== undefined)
        differs.add(stream);
      else streams.push({ stream, isNew: there === undefined });
      onLooked(streams.length + same.length);
    }
  if (half.count > 0) throw copyIsHalf(from.location, half.names, half.more);
  if (owned.count > 0 && !options.running) throw copyIsOwned(from.location, owned.names, owned.more);
  if (isGoingOn && !marker.merge)
    for await (const page of listPages(to, {}, signal))
      for (const { stream } of page) if ((await from.info(stream)) === undefined) differs.add(stream);
  if (!isGoingOn && options.merge)
    for await (const { kind, row } of compareRows(from, to, signal))
      if (kind === 'other') differs.add(`"${row.key}" in table "${row.table}"`);
  for await (const list of allLists(from, signal))
    if ((await sharedEntries(from, to, list, signal)) === undefined) differs.add(`list "${list}"`);
  if (differs.count > 0) throw copyDiffers(to.location, differs.names, differs.more);
  return { marker, streams: streams.reverse(), same, running };
}

async function refuseFull(to: Store): Promise<void> {
  const { sessions, runs, lists } = await to.upkeep.describe();
  const hasRows = (await to.upkeep.rows({ limit: 2 })).some(({ table }) => table !== COPY_TABLE);
  if (sessions + runs + lists > 0 || hasRows) throw copyNotEmpty(to.location, sessions + runs);
}

/** How the stream of a copy stands to the one that it is of. `behind`: it begins as that one does, and lacks the rest. */
export type Likeness = 'same' | 'behind' | 'other';

async function compareStreams(
  from: Store,
  source: StreamInfo,
  to: Store,
  target: StreamInfo,
  signal?: AbortSignal,
): Promise<Likeness> {
  const isSettled = target.status !== RESTORING;
  if (source.head === target.head && isSettled) {
    const [a, b] = await Promise.all([hashStream(from, source, signal), hashStream(to, target, signal)]);
    if (a === b) return 'same';
  }
  const isAkin =
    source.kind === target.kind && source.name === target.name && source.parent === target.parent;
  if (!isAkin || source.head < target.head) return 'other';
  return (await beginsAs(from, source.stream, to, target, signal)) ? 'behind' : 'other';
}

async function beginsAs(
  from: Store,
  source: string,
  to: Store,
  { stream, head }: StreamInfo,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const own = lines(from, source, head, signal);
  for await (const page of eventPages(to, stream, { through: head, signal }))
    for (const line of page) {
      const next = await own.next();
      if (next.done === true || next.value !== line) return false;
    }
  return true;
}

async function* lines(
  store: Store,
  stream: string,
  through: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void> {
  for await (const page of eventPages(store, stream, { through, signal })) yield* page;
}

/** A row of two stores: where it is, and whether it is the same in both. */
export type ComparedRow =
  | { readonly kind: 'same' | 'other' | 'missing'; readonly row: TableRow }
  /** Only the second has it. */
  | { readonly kind: 'extra'; readonly row: TableRow };

/** All rows of both, by table and key. Both are read page by page; the order of both is that of UTF-8. */
export async function* compareRows(
  from: Store,
  to: Store,
  signal?: AbortSignal,
): AsyncGenerator<ComparedRow, void> {
  const [ours, theirs] = [allRows(from, signal), allRows(to, signal)];
  let [a, b] = await Promise.all([ours.next(), theirs.next()]);
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : byPlace(a.value, b.value);
    if (order <= 0 && a.done !== true) {
      const row = a.value;
      const isSame = order === 0 && b.done !== true && isAlike(row, b.value);
      yield { kind: order < 0 ? 'missing' : isSame ? 'same' : 'other', row };
      a = await ours.next();
    } else if (b.done !== true) yield { kind: 'extra', row: b.value };
    if (order >= 0) b = await theirs.next();
  }
}

/** To the millisecond two stores cannot agree on when a row is over, since each counts from its own now. */
const isAlike = (a: TableRow, b: TableRow): boolean =>
  sameValue(a.value, b.value) && (a.expiresAt === undefined) === (b.expiresAt === undefined);

function byPlace(a: TableRow, b: TableRow): number {
  return (
    Buffer.compare(Buffer.from(a.table), Buffer.from(b.table)) ||
    Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))
  );
}

/** The first few of what may be many, for a message. */
export interface NamedFew {
  add(name: string): void;
  readonly names: readonly string[];
  readonly more: number;
  readonly count: number;
}

const MOST = 10;

export function createNamedFew(): NamedFew {
  const names: string[] = [];
  let count = 0;
  return {
    names,
    add(name) {
      if (count++ < MOST) names.push(name);
    },
    get more() {
      return count - names.length;
    },
    get count() {
      return count;
    },
  };
}

/** Says in a store that it is the copy of another, and not whole yet. */
export interface CopyMarker {
  readonly from: string;
  /** Whether there was something in it before. */
  readonly merge: boolean;
}

const KEY = 'under way';

export async function readCopyMarker(to: Store): Promise<CopyMarker | undefined> {
  const found = (await to.tables.get(COPY_TABLE, KEY)) as unknown as CopyMarker | undefined;
  return typeof found?.from === 'string' ? { from: found.from, merge: found.merge === true } : undefined;
}

export const setCopyMarker = (to: Store, { from, merge }: CopyMarker): Promise<void> =>
  to.tables.set(COPY_TABLE, KEY, { from, merge });

export const clearCopyMarker = async (to: Store): Promise<void> => {
  await to.tables.delete(COPY_TABLE, KEY);
};
