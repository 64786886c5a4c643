import type { ExpressionContext } from '../expressions/cel/evaluate.ts';
import type { Expression } from '../expressions/cel/parse-expression.ts';
import type { Clock } from '../lib/clock.ts';
import type { ErrorJson, Result, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { EventBody } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';

/** A feed as `list_context_feeds`, the command line and the console show it. */
export interface FeedView {
  readonly id: string;
  readonly type: Feed['type'];
  /** `tool "git_log"`, `internal system_clock`. */
  readonly source: string;
  readonly inject: Feed['inject'];
  readonly enabled: boolean;
  readonly intervalMs?: number;
  readonly by: 'manifest' | 'model';
  /** Absent where it was never loaded. */
  readonly tokens?: number;
  readonly ageMs?: number;
  readonly error?: ErrorJson;
}

export interface FeedReading {
  readonly id: string;
  readonly value: Json;
  readonly tokens: number;
  readonly truncated?: number;
  readonly ageMs: number;
  readonly cached?: true;
}

/** The feeds of one session: what is loaded when, and what of it goes on the log. */
export interface FeedKeeper {
  /** Starts what is periodic. Called once, when the session begins or is taken up again. */
  begin(): void;
  /**
   * Called before each turn: puts on the log what the model is to be shown. Undefined where nothing has to be waited
   * for; never waits longer than the deadline, and never for a periodic feed.
   */
  beforeTurn(): Promise<void> | undefined;
  /** What `$id` stands for; undefined where there is no such feed, and where it would have to be loaded first. */
  value(id: string): Json | undefined;
  /**
   * Loads what `value` has not; false where there is no such feed that could be. Calls back, later, once `value` has
   * it or it has failed, with the reason; not after `close`. That it failed is told in the next turn, as `on_error` says.
   */
  fetch(id: string, then: (failure?: RuntimeError) => void): boolean;
  /** Throws where it may not stand beside the others: its id is taken, a reference leads nowhere or in a circle. */
  add(feed: Feed, written: JsonObject, by: string): void;
  /** Another definition of one that there is. */
  update(id: string, feed: Feed, written: JsonObject, by: string): void;
  remove(id: string, by: string): void;
  /** The definition as a manifest would write it; undefined where there is no such feed. */
  definition(id: string): JsonObject | undefined;
  list(): readonly FeedView[];
  /**
   * The value of this moment; `refresh`: from the source, whatever the cache has, and even if it failed just now. Rejects
   * with the signal's reason when it is aborted; a load that nobody else wants is then stopped.
   */
  read(id: string, refresh: boolean, signal: AbortSignal): Promise<FeedReading>;
  /** Ends what loads and what is periodic; resolves when all of it has stopped. */
  close(): Promise<void>;
}

/** A value in memory. What of it the log holds is for the log to say. */
export interface KeptValue extends SharedValue {
  /** It comes from the cache that sessions share. */
  readonly cached?: true;
  /** The last turn that it was loaded for. */
  readonly turn: number;
}

export type FeedOutcome = Result<KeptValue, RuntimeError>;

/** One load that is under way. */
export interface Load {
  readonly controller: AbortController;
  /** Never rejects. Settles after the entry knows of it. */
  readonly outcome: Promise<FeedOutcome>;
  /** The last turn that its value is for. */
  turn: number;
  readonly startedAt: number;
  /** A turn did not wait for it to end: its value is for the next one. */
  late: boolean;
  /** The log says that it is late. */
  noted: boolean;
  /** Who wants it; when the last one leaves it is stopped. */
  holders: number;
}

/** Failures in a row. */
export interface FailureRow {
  readonly error: RuntimeError;
  readonly times: number;
  /** On the monotonic clock: not tried again before. */
  readonly retryAt: number;
  /** The code that is on the log as the last of this row; undefined where none is. */
  readonly noted: string | undefined;
  /** The codes that the model was told of. */
  readonly told: readonly string[];
}

/** What the keeper knows of one feed. Another definition is another entry. */
export interface FeedEntry {
  readonly feed: Feed;
  readonly written: JsonObject | undefined;
  readonly by: 'manifest' | 'model';
  /** Undefined where `enabled` is fixed. */
  readonly test: Expression | undefined;
  enabled: boolean;
  /** Why `enabled` could not be decided; it counts as false then. */
  enabledError: ErrorJson | undefined;
  /** Those that are loaded before it. */
  refs: readonly string[];
  /** Why it can never be loaded: a circle that a changed manifest has brought. */
  stuck: RuntimeError | undefined;
  value: KeptValue | undefined;
  /** The value came since it was last decided whether to show it. */
  unseen: boolean;
  row: FailureRow | undefined;
  load: Load | undefined;
  /** The model is told of its failure though it is never shown: it named it. */
  asked: boolean;
  /** Of a periodic one: the model knows that there is no value yet. */
  lateNoted: boolean;
  /** Of `inject: start`: it was shown. */
  started: boolean;
  /** Removed, or replaced by another definition. */
  gone: boolean;
  /** Cancels the next periodic load. */
  disarm: (() => void) | undefined;
}

/** A value as it is shown: transformed, counted, and cut where it has to be. */
export interface PreparedValue {
  readonly value: Json;
  readonly tokens: number;
  /** Tokens that were cut off; absent where none was. */
  readonly truncated?: number;
}

/** Makes what is shown of what a source gave. Rejects with a RuntimeError where a transformation does not fit. */
export type PrepareValue = (feed: Feed, raw: Json) => Promise<PreparedValue>;

export interface SharedValue extends PreparedValue {
  /** When its source gave it, in milliseconds since the Unix epoch. */
  readonly loadedAt: number;
}

/** What sessions of one agent share. A rejection costs nothing but the sharing: the source is asked instead. */
export interface SharedCache {
  get(key: string): Promise<SharedValue | undefined>;
  set(key: string, value: SharedValue, ttlMs: number): Promise<void>;
}

/** What the keeper of a session's feeds needs of the session. */
export interface FeedDeps {
  /** Those of the manifest that have a source of their own, in its order. */
  readonly feeds: readonly Feed[];
  /** One of them as the manifest writes it. */
  written(feed: Feed): JsonObject;
  /** Reads a definition that the log holds. Throws a RuntimeError where it is none. */
  read(written: JsonObject): Feed;
  /** The session's own: the same object throughout, changed in place by the fold. */
  readonly state: Pick<
    SessionState,
    'feeds' | 'turn' | 'metadata' | 'variables' | 'metadataUpdates' | 'variableUpdates' | 'status' | 'idle'
  >;
  /** Folds into `state` before it returns. Called only from within a call of the keeper's, never in the background. */
  append(body: EventBody): unknown;
  readonly load: LoadSource;
  readonly prepare: PrepareValue;
  readonly clock: Clock;
  /** From 0 to 1, below 1. */
  random(): number;
  /** What `enabled` can read. */
  context(): ExpressionContext;
  /** What `$name` in a source's params stands for where it is no feed; undefined leaves it as it is written. */
  lookup(name: string): Json | undefined;
  readonly cache: SharedCache;
  /** How long a turn waits for its feeds, all together. */
  readonly deadlineMs: number;
  /** Tokens of values that one turn shows. */
  readonly shownTokens: number;
  /** How long a source may take to give one value. */
  readonly loadTimeoutMs: number;
}

type AnyFeed = AgentManifest['context_feeds'][number];

/** A feed with a source of its own, as the manifest's schema reads it. */
export type Feed = Extract<AnyFeed, { readonly source: unknown }>;

export const isOwnFeed = (feed: AnyFeed): feed is Feed => 'source' in feed;

export type FeedSource = Feed['source'];

/** One load of a source. */
export interface SourceCall {
  readonly feed: Feed;
  /** The source's params, their `$references` resolved. */
  readonly params: JsonObject;
  /** Aborted when the value is no longer wanted; the load must then end soon. */
  readonly signal: AbortSignal;
}

/** Asks a feed's source once. Rejects with a RuntimeError. The value is JSON of bounded size, not yet transformed. */
export type LoadSource = (call: SourceCall) => Promise<Json>;

/** The moment that freshness is asked about: the turn, the machine's time, and the monotonic one. */
export interface Moment {
  readonly turn: number;
  readonly now: number;
  readonly monotonic: number;
}

/**
 * Whether a value still counts: throughout the turn it was loaded for, so that `$id` stands for what the model was
 * shown, and for `cache_ttl` from when its source gave it. One from the future (the machine's time was set back) does not.
 */
export function isFresh({ feed, value }: FeedEntry, { turn, now }: Moment): boolean {
  if (value === undefined) return false;
  if (value.turn >= turn) return true;
  const age = now - value.loadedAt;
  return feed.cache_ttl !== undefined && age >= 0 && age < feed.cache_ttl.ms;
}

/** Whether it failed so lately that it is left alone. */
export const isResting = ({ row }: FeedEntry, { monotonic }: Moment): boolean =>
  row !== undefined && monotonic < row.retryAt;

/** Whether an on-demand feed has to be loaded before the turn of `moment`. */
export const isDue = (entry: FeedEntry, moment: Moment): boolean =>
  entry.feed.type === 'on_demand' &&
  entry.load === undefined &&
  !isFresh(entry, moment) &&
  !isResting(entry, moment);

/**
 * Whether `$id` can stand for its value as it is. Of a periodic feed it always can, once there is one; of one that fails
 * only where `on_error` lets an old value stand.
 */
export function isUsable(entry: FeedEntry, moment: Moment): boolean {
  const { feed, value, row } = entry;
  if (value === undefined) return false;
  if (feed.type === 'periodic') return row === undefined || feed.on_error === 'stale';
  return isFresh(entry, moment) || (feed.on_error === 'stale' && isResting(entry, moment));
}

/** Whether another feed can be made of its value as it is: one that fails does not stand for its last value. */
export const isReferable = (entry: FeedEntry, moment: Moment): boolean =>
  entry.feed.type === 'periodic'
    ? entry.value !== undefined && entry.row === undefined
    : isFresh(entry, moment);

/** Feeds that a session may have beside those of its manifest. */
export const MAX_ADDED_FEEDS = 50;

/** Sources of one session that are asked at the same time; the others wait for their turn. */
export const MAX_LOADS = 16;

/** Tokens of values that one turn shows. What has no room in it can be read, and is shown once there is room. */
const MAX_SHOWN_TOKENS = 32_000;

/** Of a small context window they may take this much: a turn with its results has to fit in beside them. */
const WINDOW_SHARE = 0.25;

/** Tokens of values that one turn shows to a model with such a window; undefined where nobody knows it. */
export const shownTokens = (contextWindow: number | undefined): number =>
  contextWindow === undefined
    ? MAX_SHOWN_TOKENS
    : Math.min(MAX_SHOWN_TOKENS, Math.floor(contextWindow * WINDOW_SHARE));

/** How long `close` waits for sources that were told to stop. */
export const CLOSE_WAIT_MS = 5_000;

/** A shorter interval counts as this: a source that answers at once must not keep the process busy. */
export const MIN_INTERVAL_MS = 100;

/** Where the waits of a failing on-demand feed begin and end; those of a periodic one go by its interval. */
export const FIRST_WAIT_MS = 1_000;
export const LAST_WAIT_MS = 300_000;
/** The longest wait of a periodic feed, in intervals. */
export const LAST_WAIT_INTERVALS = 10;
