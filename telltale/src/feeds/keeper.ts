import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson, RuntimeError } from '../kernel/runtime-error.ts';
import type { Feed } from './feed.ts';

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
