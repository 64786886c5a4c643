import type { FeedState } from '../events/feed-event.ts';
import { FEED_LATE, FEED_NO_ROOM } from '../events/feed-event.ts';
import type { JsonObject } from '../kernel/json.ts';
import { decideEnabled, readEnabled } from './enabled.ts';
import { createEnabledTests } from './enabled-tests.ts';
import type { Feed } from './feed.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry } from './feed-entry.ts';
import { feedCycle, fromLog } from './feed-errors.ts';
import { cycleThrough, type FeedGraph, graphOf, orderFeeds } from './feed-graph.ts';

/** The feeds of a session by id, and those of them that turns have to do with. */
export interface FeedShelf {
  find(id: string): FeedEntry | undefined;
  all(): Iterable<FeedEntry>;
  ids(): readonly string[];
  graph(): FeedGraph;
  feeds(): ReadonlyMap<string, Feed>;
  /** On the place of the one that has its id, else as the last. */
  put(entries: readonly FeedEntry[]): void;
  take(ids: readonly string[]): void;
  /** Those that are shown to the model, in order. A turn costs as much as these, not as much as there are. */
  injected(): readonly FeedEntry[];
  /** Decides `enabled` anew of those that read something that has moved since (or `always`). Returns those that it changed. */
  decide(always?: boolean): readonly FeedEntry[];
}

const NONE: readonly FeedEntry[] = [];

export function createFeedShelf(deps: Pick<FeedDeps, 'state' | 'context'>): FeedShelf {
  const { state } = deps;
  const entries = new Map<string, FeedEntry>();
  let graph: FeedGraph = new Map();
  let tests = createEnabledTests(NONE);
  let injected: readonly FeedEntry[] | undefined;
  const decidedAt = { metadata: -1, variables: -1 };

  const feeds = () => new Map([...entries].map(([id, { feed }]) => [id, feed]));

  const tidy = () => {
    graph = graphOf(feeds());
    const stuck = new Set(orderFeeds(graph).stuck);
    for (const [id, entry] of entries) {
      entry.refs = graph.get(id) ?? [];
      // One that only refers to a circle fails by that reference.
      const cycle = stuck.has(id) ? cycleThrough(graph, id) : undefined;
      entry.stuck = cycle === undefined ? undefined : feedCycle(cycle);
    }
    tests = createEnabledTests(entries.values());
    injected = undefined;
    decidedAt.metadata = -1;
  };

  return {
    find: (id) => entries.get(id),
    all: () => entries.values(),
    ids: () => [...entries.keys()],
    graph: () => graph,
    feeds,
    put(added) {
      for (const entry of added) entries.set(entry.feed.id, entry);
      tidy();
    },
    take(ids) {
      if (ids.length === 0) return;
      for (const id of ids) entries.delete(id);
      tidy();
    },
    injected() {
      if (injected === undefined || injected.some(isDone))
        injected = [...entries.values()].filter(isInjected);
      return injected;
    },
    decide(always = false) {
      const { metadataUpdates, variableUpdates } = state;
      const moved = decidedAt.metadata !== metadataUpdates || decidedAt.variables !== variableUpdates;
      if (!moved && !always) return NONE;
      decidedAt.metadata = metadataUpdates;
      decidedAt.variables = variableUpdates;
      if (tests.count === 0) return NONE;
      const due = tests.due(state, always);
      if (due.length === 0) return NONE;
      const context = deps.context();
      const changed = due.filter((entry) => decide(entry, context));
      if (changed.length > 0) injected = undefined;
      return changed;
    },
  };
}

const isDone = ({ feed, started }: FeedEntry): boolean => feed.inject === 'start' && started;

const isInjected = (entry: FeedEntry): boolean =>
  entry.enabled && entry.feed.inject !== 'reference' && !isDone(entry);

/** Returns whether it is another than before. */
function decide(entry: FeedEntry, context: ReturnType<FeedDeps['context']>): boolean {
  if (entry.test === undefined) return false;
  const { enabled, error } = decideEnabled(entry.test, context);
  entry.enabledError = error;
  if (entry.enabled === enabled) return false;
  entry.enabled = enabled;
  return true;
}

/** An entry of which nothing is known but what the log holds. Its value is good for no turn: the source may have moved on. */
export function createEntry(
  feed: Feed,
  by: FeedEntry['by'],
  written: JsonObject | undefined,
  logged: FeedState | undefined,
): FeedEntry {
  const { enabled, error, test } = readEnabled(feed);
  const failing = logged?.failing;
  const ofSource = failing?.error.code !== FEED_LATE && failing?.error.code !== FEED_NO_ROOM;
  return {
    feed,
    written,
    by,
    test,
    enabled,
    enabledError: error,
    refs: [],
    stuck: undefined,
    value: logged?.last === undefined ? undefined : { ...logged.last, turn: NO_TURN },
    unseen: true,
    row:
      failing === undefined || !ofSource
        ? undefined
        : {
            error: fromLog(failing.error),
            times: failing.times,
            retryAt: Number.NEGATIVE_INFINITY,
            noted: failing.error.code,
            told: [failing.error.code],
          },
    load: undefined,
    asked: false,
    lateNoted: failing?.error.code === FEED_LATE,
    started: logged?.shown?.news.kind === 'value',
    gone: false,
    disarm: undefined,
  };
}

const NO_TURN = -1;
