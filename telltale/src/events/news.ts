import { NONE } from '../kernel/grow.ts';
import type { Json } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { MessageFrom } from './event.ts';
import type { FeedNews } from './feed-event.ts';
import type { GivenTask } from './task-event.ts';
import type { FieldError } from './value-event.ts';

/** What happened since the model last saw the state: what its next prompt has to tell. */
export interface News {
  messages: readonly { readonly from: MessageFrom; readonly text: string }[];
  /** Actions that ended, in the order in which they did. */
  results: readonly string[];
  faults: readonly { readonly code: string; readonly message: string }[];
  rejected: readonly FieldError[];
  /** Fields of metadata that are not what the model last saw. */
  changed: readonly string[];
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

/** Copied, as the record of a turn is. */
const NO_NEWS: News = { messages: NONE, results: NONE, faults: NONE, rejected: NONE, changed: NONE };

export const emptyNews = (): News => ({ ...NO_NEWS });

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
