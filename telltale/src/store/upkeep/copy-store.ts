import type { Clock } from '../../kernel/clock.ts';
import type { Store, StreamInfo, StreamWriter } from '../store.ts';
import { type CheckedCopy, checkCopy } from './check-copy.ts';
import { compareRows } from './compare-rows.ts';
import { type CopiedGraphs, copyGraphs } from './copy-graphs.ts';
import { copyList } from './copy-lists.ts';
import { clearCopyMarker, setCopyMarker } from './copy-marker.ts';
import { copyStream, takeForCopy } from './copy-stream.ts';
import { inTurn } from './in-turn.ts';
import { type CopyPlan, planCopy } from './plan-copy.ts';
import { allLists } from './table-pages.ts';
import { copyMissed, copyUnlike } from './upkeep-errors.ts';

export interface CopyOptions {
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
export async function copyStore(from: Store, to: Store, options: CopyOptions): Promise<CopyReport> {
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
  { signal, onProgress = () => undefined }: CopyOptions,
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
