import type { ProviderPart } from '../lib/calls.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { MessageFrom } from './event.ts';
import type { FeedNews } from './feed-event.ts';
import type { FieldError, GivenTask } from './session-events.ts';

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
  ifs: (boolean | null)[];
  /** Its `<parallel>`s in which a fault kept something from acting; absent where there is none. */
  spoilt?: readonly string[];
}

export const noSigns = (): TurnSigns => ({
  tags: false,
  deeds: false,
  responses: 0,
  thoughts: 0,
  unset: false,
  ifs: [],
});

export interface Asked {
  /** Counts requests from 1 on. */
  turn: number;
  /** Characters of its answer that are on the log already, from before a crash. */
  said: number;
}

/** What happened since the model last saw the state: what its next prompt has to tell. */
export interface News {
  messages: { readonly from: MessageFrom; readonly text: string }[];
  /** Actions that ended, in the order in which they did. */
  results: string[];
  faults: { readonly code: string; readonly message: string }[];
  rejected: FieldError[];
  /** Fields of metadata that are not what the model last saw. */
  changed: string[];
  /** Why the turn before this one broke off, after how many characters, and which `<parallel>`s it broke off in. */
  broken?: { readonly error: ErrorJson; readonly at: number; readonly groups?: readonly string[] };
  /** Whether the turn before this one came to an end, but not well: at a limit, or with a tag left open. Absent where it did. */
  short?: true;
  /** The final response of the turn before this one is held: the actions whose results the model had not seen. */
  held?: readonly string[];
  /** Workflow runs that ended and of which the model is told. Absent in turns from before there were any. */
  workflows?: WorkflowNews[];
  /** Variables that are not what the model last saw. Absent where there is none. */
  variables?: string[];
  /** The task that was given. */
  task?: GivenTask;
  /** What there is to say of feeds, in order, each once. Absent where there is nothing. */
  feeds?: FeedNews[];
}

export interface WorkflowNews {
  readonly workflow: string;
  readonly run: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** Its output, its error or the reason. */
  readonly about: Json | ErrorJson | string;
}

export const emptyNews = (): News => ({ messages: [], results: [], faults: [], rejected: [], changed: [] });

/** Of turns that began without any: one for all. */
export const WITHOUT_NEWS: Readonly<News> = Object.freeze(emptyNews());

export const isEmptyNews = (news: News): boolean =>
  news.messages.length === 0 &&
  news.results.length === 0 &&
  news.faults.length === 0 &&
  news.rejected.length === 0 &&
  news.changed.length === 0 &&
  news.broken === undefined &&
  news.short === undefined &&
  news.held === undefined &&
  news.workflows === undefined &&
  news.variables === undefined &&
  news.task === undefined &&
  news.feeds === undefined;
