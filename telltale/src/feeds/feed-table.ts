import { type ExpressionContext, evaluateTest } from '../expressions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../expressions/cel/parse-expression.ts';
import type { ConditionConditionIssue } from '../expressions/issue.ts';
import { referencesInParameters } from '../expressions/references/resolve-references.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { FEED_LATE, FEED_NO_ROOM, type FeedState } from '../log/feed-event.ts';
import type { SessionState } from '../log/state.ts';
import type { Feed, FeedDeps, FeedEntry } from './feed.ts';
import { feedCycle, feedUnknown, fromLog } from './feed-errors.ts';

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

/** The tests of `enabled`: which of them can come out otherwise than before. */
export interface EnabledTests {
  readonly count: number;
  /**
   * Those that read something that is another than at the last call; all of them with `always`, and at the first call.
   * A turn that changes a field pays for the feeds that read it, not for all: a test takes half a microsecond.
   */
  due(state: TestedState, always: boolean): readonly FeedEntry[];
}

/** Looked at as it is: what expressions see of it is made for each session, and takes microseconds to read. */
type TestedState = Pick<SessionState, 'metadata' | 'variables'>;

interface Watch {
  readonly name: string;
  readonly readers: FeedEntry[];
  last: unknown;
}

const NOT_SEEN = Symbol();
const NO_TESTS: readonly FeedEntry[] = [];

function createEnabledTests(entries: Iterable<FeedEntry>): EnabledTests {
  const watched: Readonly<Record<Root, Map<string, Watch>>> = { metadata: new Map(), vars: new Map() };
  const others: FeedEntry[] = [];
  let count = 0;

  for (const entry of entries) {
    if (entry.test === undefined) continue;
    count++;
    const read = readBy(entry.test);
    if (read === undefined) others.push(entry);
    else
      for (const { root, name } of read) {
        const known = watched[root].get(name);
        if (known === undefined) watched[root].set(name, { name, readers: [entry], last: NOT_SEEN });
        else known.readers.push(entry);
      }
  }
  const fields = [...watched.metadata.values()];
  const variables = [...watched.vars.values()];

  return {
    count,
    due(state, always) {
      let due: Set<FeedEntry> | undefined;
      const look = (one: Watch, value: unknown) => {
        if (value === one.last && !always) return;
        one.last = value;
        due ??= new Set(others);
        for (const reader of one.readers) due.add(reader);
      };
      for (const one of fields) look(one, state.metadata[one.name]);
      for (const one of variables) look(one, state.variables.get(one.name)?.value);
      if (due !== undefined) return [...due];
      return others.length === 0 ? NO_TESTS : others;
    },
  };
}

/** Where the fields of the metadata and the variables stand. Of what else a test reads nobody says when it changes. */
type Root = 'metadata' | 'vars';

const isRoot = (name: string): name is Root => name === 'metadata' || name === 'vars';

/** The fields and variables that a test reads, and nothing besides; undefined where it is not that plain. */
function readBy({
  names,
}: Expression): readonly { readonly root: Root; readonly name: string }[] | undefined {
  const read: { readonly root: Root; readonly name: string }[] = [];
  for (const { root, path } of names) {
    const [name] = path;
    if (!isRoot(root) || typeof name !== 'string') return undefined;
    read.push({ root, name });
  }
  return read.length === 0 ? undefined : read;
}

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

function graphOf(feeds: ReadonlyMap<string, Feed>): FeedGraph {
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

export interface Enabled {
  readonly enabled: boolean;
  readonly error?: ErrorJson;
}

/** `enabled`, ready to be decided again and again; a test only where it can change. */
export function readEnabled({ enabled }: Pick<Feed, 'enabled'>): Enabled & { readonly test?: Expression } {
  switch (enabled.trim().toLowerCase()) {
    case '':
    case '0':
    case 'false':
    case 'no':
      return { enabled: false };
    case '1':
    case 'true':
    case 'yes':
      return { enabled: true };
  }
  const parsed = parseExpression(enabled);
  return parsed.ok
    ? { enabled: false, test: parsed.value }
    : { enabled: false, error: toError(parsed.error) };
}

/** Whether it holds. What cannot be decided (a field that is not set yet) does not hold; `error` says why. */
export function decideEnabled(test: Expression, context: ExpressionContext): Enabled {
  const held = evaluateTest(test, context);
  return held.ok ? { enabled: held.value } : { enabled: false, error: toError(held.error) };
}

const toError = ({ code, message, hint }: ConditionConditionIssue): ErrorJson => ({
  code,
  message: `"enabled": ${message}`,
  ...(hint === undefined ? {} : { hint }),
  retryable: false,
});
