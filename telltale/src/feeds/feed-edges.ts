import type { ExpressionContext } from '../conditions/cel/evaluate.ts';
import type { EventBody } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { Feed, LoadSource } from './feed.ts';

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
