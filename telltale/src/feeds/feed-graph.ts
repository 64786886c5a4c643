import { referencesInParameters } from '../conditions/references/resolve-references.ts';
import type { Feed } from './feed.ts';
import { feedCycle, feedUnknown } from './feed-errors.ts';

/** Feeds by id, each with those that are loaded before it. */
export type FeedGraph = ReadonlyMap<string, readonly string[]>;

type Has = Pick<ReadonlySet<string>, 'has'>;

/** What is loaded before a feed: its `refs`, and every `$id` and `{{id}}` in its params that is a feed. Each once. */
function refsOf(feed: Feed, ids: Has): readonly string[] {
  const named = referencesInParameters(feed.source.params).flatMap(({ name }) =>
    ids.has(name) ? [name] : [],
  );
  return named.length === 0 && feed.refs.length < 2 ? feed.refs : [...new Set([...feed.refs, ...named])];
}

/**
 * Whether a feed is one of `origins`, or made of one, by however many references: what it is asked for is then for them to
 * say. Ids that are in none of `feeds` refer to nothing.
 */
export function comesFrom(id: string, origins: Has, feeds: ReadonlyMap<string, Feed>): boolean {
  const ids = { has: (name: string) => origins.has(name) || feeds.has(name) };
  const seen = new Set([id]);
  for (const at of seen) {
    if (origins.has(at)) return true;
    const feed = feeds.get(at);
    if (feed !== undefined) for (const ref of refsOf(feed, ids)) seen.add(ref);
  }
  return false;
}

export function graphOf(feeds: ReadonlyMap<string, Feed>): FeedGraph {
  return new Map([...feeds].map(([id, feed]) => [id, refsOf(feed, feeds)]));
}

/**
 * The ids, each after those that it refers to, otherwise as they stand; `stuck` are those that stand in a circle or refer
 * to one that does. References that lead nowhere hold nothing up. Linear, and without recursion.
 */
export function orderFeeds(graph: FeedGraph): {
  readonly order: readonly string[];
  readonly stuck: readonly string[];
} {
  const open = new Map<string, number>();
  const users = new Map<string, string[]>();
  for (const [id, refs] of graph) {
    const known = refs.filter((ref) => graph.has(ref));
    open.set(id, known.length);
    for (const ref of known) {
      const before = users.get(ref);
      if (before === undefined) users.set(ref, [id]);
      else before.push(id);
    }
  }
  const order = [...graph.keys()].filter((id) => open.get(id) === 0);
  for (const id of order) {
    for (const user of users.get(id) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) order.push(user);
    }
  }
  const done = new Set(order);
  return { order, stuck: [...graph.keys()].filter((id) => !done.has(id)) };
}

/** The shortest way from a feed along its references back to itself, itself at both ends; undefined where there is none. */
export function cycleThrough(graph: FeedGraph, id: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [id];
  for (const at of queue) {
    for (const ref of graph.get(at) ?? []) {
      if (ref === id) {
        const way = [id];
        for (let step = at; step !== id; step = cameFrom.get(step) ?? id) way.unshift(step);
        return [id, ...way];
      }
      if (!graph.has(ref) || cameFrom.has(ref)) continue;
      cameFrom.set(ref, at);
      queue.push(ref);
    }
  }
  return undefined;
}

/** Throws where `feed` may not stand among `others` (which may hold an older one of its id). */
export function checkPlace(feed: Feed, others: ReadonlyMap<string, Feed>): void {
  const feeds = new Map(others).set(feed.id, feed);
  const missing = feed.refs.find((ref) => !feeds.has(ref));
  if (missing !== undefined) throw feedUnknown(missing, [...others.keys()], feed.id);
  const cycle = cycleThrough(graphOf(feeds), feed.id);
  if (cycle !== undefined) throw feedCycle(cycle);
}

/** Those that refer to a feed. */
export const usersOf = (graph: FeedGraph, id: string): readonly string[] =>
  [...graph].filter(([user, refs]) => user !== id && refs.includes(id)).map(([user]) => user);
