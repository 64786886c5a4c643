import type { Store } from '../store.ts';
import { compareRows } from './compare-rows.ts';
import { compareStreams } from './compare-streams.ts';
import { sharedEntries } from './copy-lists.ts';
import { type CopyMarker, readCopyMarker } from './copy-marker.ts';
import { listPages } from './list-pages.ts';
import { createNamedFew } from './named-few.ts';
import { allLists, COPY_TABLE } from './table-pages.ts';
import { RESTORING } from './upkeep.ts';
import {
  copyDiffers,
  copyIsHalf,
  copyIsOwned,
  copyNotEmpty,
  copyOfAnother,
  copyOntoItself,
} from './upkeep-errors.ts';

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
