import { RuntimeError } from '../../lib/errors.ts';
import type { Store, StreamInfo, StreamWriter } from '../store.ts';
import { isHalfFork } from './half-fork.ts';
import { listPages, treeOf } from './pages.ts';
import { RESTORING } from './upkeep.ts';

/** Statuses of sessions and runs that have come to an end. */
export const ENDED_STATUSES = ['completed', 'failed', 'stalled', 'cancelled'] as const;
const ENDED: ReadonlySet<string> = new Set(ENDED_STATUSES);

/** What may go: whatever one of them keeps, stays. */
export interface PruneRules {
  /** What nothing was written to for so long. */
  readonly olderThanMs?: number;
  /** All but so many of the newest of each agent or workflow. */
  readonly keep?: number;
  /** Only those of this agent or workflow. */
  readonly name?: string;
  /** Only those that ended like this; however they ended, if absent. */
  readonly statuses?: readonly string[];
  readonly now: number;
}

export interface PruneOptions {
  readonly rules: PruneRules;
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly looked: number; readonly pruned: number }) => void;
  /** Told of each session or run that goes, or would, with all that it called. */
  readonly onPruned?: (pruned: PrunedTree) => void;
}

export interface PrunedTree extends Pick<StreamInfo, 'stream' | 'kind' | 'name' | 'status' | 'title'> {
  readonly updatedAt: number;
  /** With all that it called. */
  readonly streams: number;
  readonly events: number;
  readonly bytes: number;
}

export interface PruneReport {
  readonly trees: number;
  readonly streams: number;
  readonly events: number;
  readonly bytes: number;
  /** Sessions and runs that stay: not ended, or something that they called has not; owned; kept by a rule; too many called. */
  readonly kept: { readonly alive: number; readonly byRule: number; readonly tooLarge: readonly string[] };
}

/**
 * Takes out sessions and runs that have ended, and what broken-off forks have left, each with all that it called, and only where that has ended, too. Each
 * stream is owned before it goes, so whoever resumes one in that moment keeps it.
 */
export async function pruneStore(store: Store, options: PruneOptions): Promise<PruneReport> {
  const { rules, dryRun = false, signal, onProgress = () => undefined, onPruned = () => undefined } = options;
  const kept = { alive: 0, byRule: 0, tooLarge: [] as string[] };
  const goes: StreamInfo[] = [];
  const halves = new Set<string>();
  const goesWell = (info: StreamInfo) => mayGo(info) || halves.has(info.stream);
  const seen = new Map<string, number>();
  let looked = 0;
  for await (const page of listPages(store, {}, signal))
    for (const info of page) {
      looked++;
      if (!(await isRoot(store, info)) || !fits(info, rules)) continue;
      if (await isHalfFork(store, info)) halves.add(info.stream);
      if (!goesWell(info)) kept.alive++;
      else if (!isOver(info, rules, seen)) kept.byRule++;
      else goes.push(info);
      onProgress({ looked, pruned: 0 });
    }

  const sum = { trees: 0, streams: 0, events: 0, bytes: 0 };
  // The oldest first: broken off, it has kept the newer ones.
  for (const root of goes.reverse()) {
    signal?.throwIfAborted();
    const tree = await treeOf(store, root, signal);
    if (tree === undefined) kept.tooLarge.push(root.stream);
    else if (!tree.every(goesWell)) kept.alive++;
    else if (!isOld(newestOf(tree), rules)) kept.byRule++;
    else {
      const pruned = await weighed(store, root, tree);
      if (!dryRun && !(await takeOut(store, tree, halves))) {
        kept.alive++;
        continue;
      }
      sum.trees++;
      sum.streams += pruned.streams;
      sum.events += pruned.events;
      sum.bytes += pruned.bytes;
      onPruned(pruned);
      onProgress({ looked, pruned: sum.streams });
    }
  }
  return { ...sum, kept };
}

/** Whether nobody called it, or who did is gone. */
const isRoot = async (store: Store, { parent }: StreamInfo): Promise<boolean> =>
  parent === undefined || (await store.info(parent)) === undefined;

/** Also one that nobody owns and nobody wrote: there is nothing to resume. */
const mayGo = ({ status, owner, head }: StreamInfo): boolean =>
  owner === undefined && (ENDED.has(status) || (head === 0 && status !== RESTORING));

const fits = ({ name, status }: StreamInfo, rules: PruneRules): boolean =>
  (rules.name === undefined || rules.name === name) &&
  (rules.statuses === undefined || rules.statuses.includes(status));

const isOld = (updatedAt: number, { olderThanMs, now }: PruneRules): boolean =>
  olderThanMs === undefined || updatedAt <= now - olderThanMs;

/** Called with those of a name newest first; counts them. */
function isOver(
  { kind, name, updatedAt }: StreamInfo,
  rules: PruneRules,
  seen: Map<string, number>,
): boolean {
  const key = `${kind} ${name}`;
  const nth = (seen.get(key) ?? 0) + 1;
  seen.set(key, nth);
  return isOld(updatedAt, rules) && (rules.keep === undefined || nth > rules.keep);
}

const newestOf = (tree: readonly StreamInfo[]): number =>
  tree.reduce((newest, { updatedAt }) => Math.max(newest, updatedAt), 0);

async function weighed(store: Store, root: StreamInfo, tree: readonly StreamInfo[]): Promise<PrunedTree> {
  const { stream, kind, name, status, title } = root;
  let bytes = 0;
  for (const each of tree) bytes += await store.upkeep.weigh(each.stream);
  const events = tree.reduce((sum, { head }) => sum + head, 0);
  return {
    stream,
    kind,
    name,
    status,
    title,
    updatedAt: newestOf(tree),
    streams: tree.length,
    events,
    bytes,
  };
}

/**
 * Whether all of it is gone. Taken from the top, so that nothing is called meanwhile, and taken out from the bottom, so
 * that what is left after a crash is still found.
 */
async function takeOut(
  store: Store,
  tree: readonly StreamInfo[],
  halves: ReadonlySet<string>,
): Promise<boolean> {
  const writers: StreamWriter[] = [];
  try {
    for (const { stream, head } of tree) {
      const writer = await acquired(halves.has(stream) ? store.upkeep : store, stream);
      if (writer === undefined) return false;
      writers.push(writer);
      if (writer.head !== head) return false;
    }
    for (let writer = writers.pop(); writer !== undefined; writer = writers.pop()) {
      await store.upkeep.remove(writer.stream, writer.epoch);
      await writer.release();
    }
    return true;
  } finally {
    for (const writer of writers) await writer.release();
  }
}

/** Undefined where somebody else has it by now. */
async function acquired(store: Pick<Store, 'acquire'>, stream: string): Promise<StreamWriter | undefined> {
  try {
    return await store.acquire(stream);
  } catch (thrown) {
    if (
      thrown instanceof RuntimeError &&
      (thrown.code === 'stream_owned' || thrown.code === 'stream_unknown')
    )
      return undefined;
    throw thrown;
  }
}
