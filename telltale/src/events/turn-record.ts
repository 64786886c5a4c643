import { NONE } from '../kernel/grow.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { ProviderPart } from '../kernel/provider-part.ts';
import type { FeedNews } from './feed-event.ts';
import type { News } from './news.ts';
import type { GivenTask } from './task-event.ts';

/** One exchange: what the model was told, and what it said. A turn's record is complete once the next one begins. */
export interface TurnRecord {
  readonly turn: number;
  readonly news: News;
  /** Ids of tracked actions that had not ended when the turn began. */
  readonly running: readonly string[];
  /** The values of metadata when the turn began: what the model was shown. */
  readonly metadata: JsonObject;
  /** The values of variables, likewise; absent where there is none. */
  readonly variables?: JsonObject;
  /** The built-in parts of the prompt that were left out; absent where none was. */
  readonly off?: readonly string[];
  /** What the model wrote, raw. */
  output: string;
  /** What the provider wants back with it; absent where it wants nothing. */
  parts?: readonly ProviderPart[];
}

/** All turns up to `through`, as a summary. */
export interface Compaction {
  readonly through: number;
  readonly summary: string;
  /** The task that was in hand. */
  readonly task?: GivenTask;
  /** What the turns that it stands for had last shown of feeds; absent where they had shown none. */
  readonly feeds?: readonly FeedNews[];
}

/** What is known of the turn in hand beside its text. */
export interface TurnSigns {
  /** Whether there was a tag of any kind. */
  tags: boolean;
  /** Whether there was an action, a change of metadata or a response. */
  deeds: boolean;
  /** How many responses are on the log. */
  responses: number;
  /** How many thoughts are; absent in snapshots from before they were counted. */
  thoughts?: number;
  /** Whether neither metadata nor variables have changed since it was last heard; absent in older snapshots. */
  unset?: boolean;
  /** What the tests of its `<if>`s came to, in order; null where one could not be decided. */
  ifs: readonly (boolean | null)[];
  /** Its `<parallel>`s in which a fault kept something from acting; absent where there is none. */
  spoilt?: readonly string[];
}

export const noSigns = (): TurnSigns => ({
  tags: false,
  deeds: false,
  responses: 0,
  thoughts: 0,
  unset: false,
  ifs: NONE,
});

export interface Asked {
  /** Counts requests from 1 on. */
  turn: number;
  /** Characters of its answer that are on the log already, from before a crash. */
  said: number;
}
