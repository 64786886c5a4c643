import type { Expression } from '../conditions/cel/parse-expression.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Result } from '../kernel/result.ts';
import type { ErrorJson, RuntimeError } from '../kernel/runtime-error.ts';
import type { Feed } from './feed.ts';
import type { SharedValue } from './feed-edges.ts';

/** A value in memory. What of it the log holds is for the log to say. */
export interface KeptValue extends SharedValue {
  /** It comes from the cache that sessions share. */
  readonly cached?: true;
  /** The last turn that it was loaded for. */
  readonly turn: number;
}

export type Outcome = Result<KeptValue, RuntimeError>;

/** One load that is under way. */
export interface Load {
  readonly controller: AbortController;
  /** Never rejects. Settles after the entry knows of it. */
  readonly outcome: Promise<Outcome>;
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
