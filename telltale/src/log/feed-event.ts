import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';

/** What happened to the context that is kept in front of a model. */
export type FeedEventBody =
  /** A feed of the session's own, or another definition of one that there is. */
  | {
      readonly type: 'feed.added';
      readonly id: string;
      /** As a manifest would write it. Absent for a built-in part of the prompt, which is shown again. */
      readonly feed?: JsonObject;
      readonly by: string;
    }
  /** Of a built-in part of the prompt: it is no longer shown. */
  | {
      readonly type: 'feed.removed';
      readonly id: string;
      readonly by: string;
      /** The manifest has it: that it is away has to be known for as long as the session lasts. */
      readonly declared?: true;
    }
  | {
      readonly type: 'feed.updated';
      readonly id: string;
      /** What is shown and what `$id` stands for: after its transformations, and as text where it was cut. */
      readonly value: Json;
      readonly tokens: number;
      /** Tokens that were cut off; absent where none was. */
      readonly truncated?: number;
      /** It comes from the cache. */
      readonly cached?: true;
      /** When its source gave it, in milliseconds since the Unix epoch. */
      readonly loaded_at: number;
      /** The model is shown it in the coming turn. */
      readonly told?: true;
    }
  | {
      readonly type: 'feed.failed';
      readonly id: string;
      /** Code `feed_late`: it was not there in time, and may still come. */
      readonly error: ErrorJson;
      /** How often in a row. */
      readonly times: number;
      /** The model is told of it in the coming turn. */
      readonly told?: true;
    };

/** The code of a feed that was not there in time. */
export const FEED_LATE = 'feed_late';

/** The code of a value that a turn had no room for. */
export const FEED_NO_ROOM = 'feed_no_room';

/** A feed as a session knows it. */
export interface FeedState {
  readonly id: string;
  /** Where it was added, or defined anew, in the session. */
  readonly definition?: JsonObject;
  readonly by?: string;
  /** The manifest has it, and the session has removed it: nothing else is known of it. */
  readonly removed?: true;
  /** The last value, and when its source gave it. */
  readonly last?: {
    readonly value: Json;
    readonly tokens: number;
    readonly truncated?: number;
    readonly loadedAt: number;
    readonly seq: number;
    /** The turn it was loaded for. */
    readonly turn: number;
  };
  /** Since then its source has failed. */
  readonly failing?: { readonly error: ErrorJson; readonly times: number; readonly since: number };
  /** What the model was last shown of it, and in which turn. */
  readonly shown?: { readonly turn: number; readonly news: FeedNews };
}

/** What a block says of a feed. `ageMs`: how old the value was when it was said. */
export type FeedNews =
  | {
      readonly id: string;
      readonly kind: 'value';
      readonly value: Json;
      readonly ageMs: number;
      readonly truncated?: number;
    }
  /** `ageMs`: of the value that still stands above; absent where there is none. */
  | {
      readonly id: string;
      readonly kind: 'failed';
      readonly error: ErrorJson;
      readonly ageMs?: number;
    };
