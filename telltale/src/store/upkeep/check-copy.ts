import { createHash } from 'node:crypto';
import type { Store } from '../store.ts';
import { compareRows } from './compare-rows.ts';
import { sharedEntries } from './copy-lists.ts';
import { hashStream } from './hash-stream.ts';
import { listPages } from './list-pages.ts';
import { createNamedFew, type NamedFew } from './named-few.ts';
import type { CopyPlan } from './plan-copy.ts';
import { allLists, entryPages } from './table-pages.ts';

/** What both stores have, read anew. */
export interface CheckedCopy {
  readonly streams: readonly CheckedStream[];
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

export interface CheckedStream {
  readonly stream: string;
  readonly events: number;
  readonly sha256: string;
}

export interface CheckCopyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onChecked: (done: number, of: number) => void;
}

export async function checkCopy(
  from: Store,
  to: Store,
  plan: CopyPlan,
  { signal, onChecked }: CheckCopyOptions,
): Promise<CheckedCopy> {
  const unlike = createNamedFew();
  const streams: CheckedStream[] = [];
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
