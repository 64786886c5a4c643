import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { GraphStore } from '../graph.ts';
import type { Store, StreamInfo, StreamWriter } from '../store.ts';
import { appendCommitted, copyMissed, copyUnlike } from './append-committed.ts';
import { copyList, sharedEntries } from './copy-lists.ts';
import { allLists, entryPages, eventPages, hashStream, listPages } from './pages.ts';
import {
  type CopyPlan,
  clearCopyMarker,
  compareRows,
  createNamedFew,
  type NamedFew,
  planCopy,
  setCopyMarker,
} from './plan-copy.ts';
import { RESTORING } from './upkeep.ts';

export interface CopyStoreCopyOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Adds to what is there. */
  readonly merge?: boolean;
  /** Also streams that somebody works on: as far as they are, and closed until a copy without this has brought the rest. */
  readonly running?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
}

export interface CopyProgress {
  readonly doing: 'looking' | 'streams' | 'tables' | 'graphs' | 'checking';
  /** Streams that are done, of all that there are to do. */
  readonly done: number;
  readonly of: number;
  readonly events: number;
}

export interface CopyReport {
  /** Streams that were copied, and those that were there already. */
  readonly copied: number;
  readonly same: number;
  readonly events: number;
  readonly rows: number;
  readonly entries: number;
  readonly graphs: CopiedGraphs;
  /** Streams that somebody works on: they are closed in the copy until the rest of them is there. */
  readonly running: readonly string[];
  readonly checked: CheckedCopy;
}

/** Streams that are filled at once: they share commits. */
const AT_ONCE = 16;
/** Streams that are made at once. */
const BATCH = 64;
const ROWS_AT_ONCE = 500;

/**
 * Copies a store into another, and then reads both to see that they are the same. Broken off at any place, it goes on
 * from there when it is called again with the same stores. Refused with `store_not_empty` or `copy_refused`, before
 * anything is written; `copy_unlike` where the two are not the same afterwards.
 */
export async function copyStore(from: Store, to: Store, options: CopyStoreCopyOptions): Promise<CopyReport> {
  const { clock, merge = false, running = false, signal, onProgress = () => undefined } = options;
  const plan = await planCopy(from, to, {
    merge,
    running,
    signal,
    onLooked: (done) => onProgress({ doing: 'looking', done, of: done, events: 0 }),
  });
  await setCopyMarker(to, plan.marker);
  const events = await copyStreams(from, to, plan, options);
  const all = { done: plan.streams.length, of: plan.streams.length, events };
  onProgress({ doing: 'tables', ...all });
  const rows = await copyRows(from, to, plan.marker.merge, clock, signal);
  let entries = 0;
  for await (const list of allLists(from, signal)) entries += await copyList(from, to, list, signal);
  onProgress({ doing: 'graphs', ...all });
  const graphs = await copyGraphs(from, to, signal);
  const checked = await checkCopy(from, to, plan, {
    signal,
    onChecked: (done, of) => onProgress({ doing: 'checking', done, of, events }),
  });
  if (checked.unlike.length > 0) throw copyUnlike(checked.unlike, checked.more);
  // With somebody at work at the source there is more to come anyway, and the copy stays marked as one that goes on.
  if (checked.cameCount > 0 && plan.running.size === 0) throw copyMissed(checked.came, checked.cameCount);
  if (plan.running.size === 0) await clearCopyMarker(to);
  return {
    copied: plan.streams.length,
    same: plan.same.length,
    events,
    rows,
    entries,
    graphs,
    running: [...plan.running],
    checked,
  };
}

async function copyStreams(
  from: Store,
  to: Store,
  { streams }: CopyPlan,
  { signal, onProgress = () => undefined }: CopyStoreCopyOptions,
): Promise<number> {
  let [done, events] = [0, 0];
  const tell = () => onProgress({ doing: 'streams', done, of: streams.length, events });
  for (let at = 0; at < streams.length; at += BATCH) {
    signal?.throwIfAborted();
    const batch = streams.slice(at, at + BATCH);
    const infos = await Promise.all(batch.map(({ stream }) => from.info(stream)));
    const taken = await Promise.allSettled(
      batch.flatMap(({ isNew }, place) => {
        const info = infos[place] as StreamInfo | undefined;
        return info === undefined ? [] : [takeForCopy(to, info, isNew)];
      }),
    );
    const writers = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const begun = new Set<StreamWriter>();
    try {
      for (const each of taken) if (each.status === 'rejected') throw each.reason;
      await inTurn(writers, AT_ONCE, async (writer) => {
        begun.add(writer);
        await copyStream(from, to, writer, {
          signal,
          onEvents(count) {
            events += count;
            tell();
          },
        });
        done++;
        tell();
      });
    } finally {
      for (const writer of writers) if (!begun.has(writer)) await writer.release();
    }
  }
  return events;
}

/** What the source has counts; what only the copy has goes, unless it was there before. */
async function copyRows(
  from: Store,
  to: Store,
  isMerged: boolean,
  clock: Pick<Clock, 'now'>,
  signal: AbortSignal | undefined,
): Promise<number> {
  let copied = 0;
  let writes: Promise<unknown>[] = [];
  const settle = async () => {
    await Promise.all(writes);
    writes = [];
  };
  for await (const { kind, row } of compareRows(from, to, signal)) {
    const { table, key, value, expiresAt } = row;
    if (kind === 'extra') {
      if (!isMerged) writes.push(to.tables.delete(table, key));
    } else if (kind !== 'same') {
      const options = expiresAt === undefined ? {} : { ttlMs: Math.max(1, expiresAt - clock.now()) };
      writes.push(to.tables.set(table, key, value, options));
      copied++;
    }
    if (writes.length >= ROWS_AT_ONCE) await settle();
  }
  await settle();
  return copied;
}

/** Does work on all items, `most` at a time; each is begun in its turn, and the first failure ends it. */
async function inTurn<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async () => {
    while (next < items.length && !hasFailed) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (thrown) {
        hasFailed = true;
        throw thrown;
      }
    }
  };
  const workers = Array.from({ length: Math.min(most, items.length) }, worker);
  // What is under way comes to its end before anybody is told of the failure.
  const ended = await Promise.allSettled(workers);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}

/**
 * A stream of the copy, to be filled. One that is there already begins as the source does. Makes new ones in the order of
 * the calls.
 */
async function takeForCopy(
  to: Store,
  { stream, kind, name, title, parent }: StreamInfo,
  isNew: boolean,
): Promise<StreamWriter> {
  const head = { kind, name, title, status: RESTORING, ...(parent === undefined ? {} : { parent }) };
  if (isNew) return to.create(stream, head);
  const writer = await to.upkeep.acquire(stream);
  await appendCommitted(writer, { expectedSeq: writer.head, events: [], status: RESTORING });
  return writer;
}

export interface CopyStreamOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onEvents: (events: number) => void;
}

/**
 * Brings a stream up to what the source has. Until it is settled nobody can work on it; a stream that is still being
 * written at the source is not settled. Broken off at any place, the next copy goes on there.
 */
async function copyStream(
  from: Store,
  to: Store,
  writer: StreamWriter,
  { signal, onEvents }: CopyStreamOptions,
): Promise<void> {
  const { stream } = writer;
  try {
    const [info, snapshots, messages] = await Promise.all([
      from.info(stream),
      from.snapshots(stream),
      from.upkeep.inbox(stream),
    ]);
    if (info === undefined) return; // taken out meanwhile: the check at the end says so
    let seq = writer.head;
    for await (const page of eventPages(from, stream, { from: seq + 1, through: info.head, signal })) {
      await appendCommitted(writer, { expectedSeq: seq, events: page });
      seq += page.length;
      onEvents(page.length);
    }
    for (const each of snapshots) if (each.seq <= seq) writer.snapshot(each.seq, each.body);
    if (info.owner !== undefined) return;
    const { status, due, createdAt, updatedAt } = info;
    const times = { createdAt, updatedAt, ...(due === undefined ? {} : { due }) };
    await to.upkeep.settle(stream, writer.epoch, { status, ...times, messages });
  } finally {
    await writer.release();
  }
}

export interface CopiedGraphs {
  readonly graphs: number;
  readonly files: number;
  readonly facts: number;
}

/** Some ten thousand symbols and calls at the most: a commit of them holds up nobody. */
const FILES_AT_ONCE = 20;
const FACTS_AT_ONCE = 200;

/** Copies knowledge graphs. What the other has learned itself stays; a file that both know is the source's. */
async function copyGraphs(from: Store, to: Store, signal?: AbortSignal): Promise<CopiedGraphs> {
  const sum = { graphs: 0, files: 0, facts: 0 };
  if (!(await from.upkeep.describe()).graphs) return sum;
  const [ours, theirs] = [await from.graphs(), await to.graphs()];
  for (const graph of await ours.graphs()) {
    sum.files += await copyFiles(ours, theirs, graph, signal);
    for await (const page of numbered((after) => ours.learned(graph, after, FACTS_AT_ONCE), signal)) {
      await theirs.learn(
        graph,
        page.map(({ n: _, ...fact }) => fact),
      );
      sum.facts += page.length;
    }
    for await (const page of numbered((after) => ours.notes(graph, after, FACTS_AT_ONCE), signal))
      for (const { n: _, ...note } of page) await theirs.noteSession(graph, note);
    const { commit, walkedAtMs } = await ours.stats(graph);
    await theirs.write(graph, {
      ...(commit === undefined ? {} : { commit }),
      ...(walkedAtMs === undefined ? {} : { walkedAtMs }),
    });
    sum.graphs++;
  }
  return sum;
}

async function copyFiles(
  ours: GraphStore,
  theirs: GraphStore,
  graph: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  let [count, after] = [0, ''];
  for (;;) {
    signal?.throwIfAborted();
    const records = await ours.records(graph, after, FILES_AT_ONCE);
    const last = records.at(-1);
    if (last === undefined) return count;
    await theirs.write(graph, { records });
    count += records.length;
    after = last.path;
  }
}

async function* numbered<Row extends { readonly n: number }>(
  read: (after: number) => Promise<readonly Row[]>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Row[], void> {
  for (let after = 0; ; ) {
    signal?.throwIfAborted();
    const page = await read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.n;
  }
}

/** What both stores have, read anew. */
export interface CheckedCopy {
  readonly streams: readonly CopyStoreCheckedStream[];
  readonly events: number;
  readonly rows: number;
  readonly entries: number;
  /** Of all rows and entries of the source. */
  readonly tablesSha256: string;
  /** Of all hashes above, in order: two stores with the same one have the same in them. */
  readonly sha256: string;
  /** What is not the same in both: the first few, and how many more. */
  readonly unlike: readonly string[];
  readonly more: number;
  /** Streams that were made in the source since it was first looked at: the first few, and how many there are. */
  readonly came: readonly string[];
  readonly cameCount: number;
}

export interface CopyStoreCheckedStream {
  readonly stream: string;
  readonly events: number;
  readonly sha256: string;
}

export interface CheckCopyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onChecked: (done: number, of: number) => void;
}

async function checkCopy(
  from: Store,
  to: Store,
  plan: CopyPlan,
  { signal, onChecked }: CheckCopyOptions,
): Promise<CheckedCopy> {
  const unlike = createNamedFew();
  const streams: CopyStoreCheckedStream[] = [];
  const names = [...plan.same, ...plan.streams.map(({ stream }) => stream)].sort();
  let [events, rows, entries] = [0, 0, 0];
  for (const stream of names) {
    // One that is being written is another in the next moment.
    if (plan.running.has(stream)) continue;
    const [a, b] = await Promise.all([from.info(stream), to.info(stream)]);
    if (a === undefined || b === undefined) unlike.add(stream);
    else {
      const [sha256, other] = await Promise.all([hashStream(from, a, signal), hashStream(to, b, signal)]);
      if (a.owner !== undefined || sha256 !== other || a.head !== b.head) unlike.add(stream);
      streams.push({ stream, events: a.head, sha256 });
      events += a.head;
    }
    onChecked(streams.length, names.length);
  }
  const came = await cameMeanwhile(from, new Set(names), signal);
  const tables = createHash('sha256');
  for await (const { kind, row } of compareRows(from, to, signal)) {
    if (kind === 'extra') continue;
    rows++;
    tables.update(`${JSON.stringify([row.table, row.key, row.value])}\n`);
    // With somebody at work at the source its tables move on, too.
    if (kind !== 'same' && plan.running.size === 0) unlike.add(`"${row.key}" in table "${row.table}"`);
  }
  for await (const list of allLists(from, signal)) {
    let count = 0;
    for await (const page of entryPages(from, list, 0, signal)) {
      count += page.length;
      for (const { n, at, value } of page) tables.update(`${JSON.stringify([list, n, at, value])}\n`);
    }
    entries += count;
    if ((await sharedEntries(from, to, list, signal)) !== count) unlike.add(`list "${list}"`);
  }
  const tablesSha256 = tables.digest('hex');
  const whole = createHash('sha256');
  for (const { stream, sha256 } of streams) whole.update(`${stream} ${sha256}\n`);
  whole.update(tablesSha256);
  return {
    streams,
    events,
    rows,
    entries,
    tablesSha256,
    sha256: whole.digest('hex'),
    unlike: unlike.names,
    more: unlike.more,
    came: came.names,
    cameCount: came.count,
  };
}

async function cameMeanwhile(
  from: Store,
  known: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<NamedFew> {
  const came = createNamedFew();
  for await (const page of listPages(from, {}, signal))
    for (const { stream } of page) if (!known.has(stream)) came.add(stream);
  return came;
}
