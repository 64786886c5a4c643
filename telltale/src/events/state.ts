import { NOBODY, NONE, NOTHING } from '../kernel/grow.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { ActionState } from './action.ts';
import type { Cause, MessageFrom } from './event.ts';
import type { FeedNews, FeedState } from './feed-event.ts';
import type { HookMark } from './hook-marks.ts';
import type { ParentRef } from './life-event.ts';
import type { ReviewAnswer, ReviewRequest } from './review-event.ts';
import type { GivenTask } from './task-event.ts';
import type { FieldError, VariableClass } from './value-event.ts';

export type SessionStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'stalled' | 'cancelled';

/** What happened since the model last saw the state: what its next prompt has to tell. */
export interface News {
  messages: readonly { readonly from: MessageFrom; readonly text: string }[];
  /** Actions that ended, in the order in which they did. */
  results: readonly string[];
  faults: readonly { readonly code: string; readonly message: string }[];
  rejected: readonly FieldError[];
  /** Fields of metadata that are not what the model last saw. */
  changed: readonly string[];
  /** Why the turn before this one broke off, and after how many characters. */
  broken?: { readonly error: ErrorJson; readonly at: number };
  /** Workflow runs that ended and of which the model is told. Absent in turns from before there were any. */
  workflows?: WorkflowNews[];
  /** Variables that are not what the model last saw. Absent where there is none. */
  variables?: string[];
  /** The task that was given. */
  task?: GivenTask;
  /** What there is to say of feeds, in order, each once. Absent where there is nothing. */
  feeds?: FeedNews[];
}

/** The task in hand. */
export interface TaskState {
  readonly given: GivenTask;
  /** Where that stands on the log: what the turns of the task come from. */
  readonly place: Cause;
  /** The turn that was the last when it was given: what came before belongs to other tasks. */
  readonly since: number;
  /** Requests to the model that ended well since. */
  turns: number;
  /** How many reports there were, and the one that has no answer yet. */
  reports: number;
  open?: OpenReport;
  /** Where the last report stands on the log. */
  reported?: Cause;
  /** The turn that the last of them was made of. */
  reportedIn?: number;
  /** Whether the agent was told that it does not come further. */
  warned: boolean;
  /** What was called with what, and how often since it was given, or since somebody had a word about it. */
  tried: TriedAction[];
  /** Whether something new came in the turn in hand, and in how many turns in a row before it nothing did. */
  fresh: boolean;
  barren: number;
}

export interface TriedAction {
  readonly id: string;
  /** What was called and with what, cut to a bounded size. */
  readonly what: string;
  times: number;
}

export type OpenReport =
  | {
      readonly kind: 'claimed';
      readonly nth: number;
      readonly notes: string;
      readonly context_updates: JsonObject;
      readonly artifacts: readonly Json[];
      readonly evidence: readonly string[];
    }
  | { readonly kind: 'stuck'; readonly nth: number; readonly why: string }
  | { readonly kind: 'turn'; readonly nth: number };

export interface WorkflowNews {
  readonly workflow: string;
  readonly run: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** Its output, its error or the reason. */
  readonly about: Json | ErrorJson | string;
}

/** A workflow run that a trigger of the session started and that has not ended. */
export interface StartedRun {
  readonly run: string;
  readonly workflow: string;
  readonly trigger: string;
  /** Where its `trigger.fired` stands: what `${agent.*}` shows in it is the session at this place. */
  readonly seq: number;
  readonly depth: number;
  readonly seen: JsonObject;
  readonly chain: readonly string[];
}

/** What a run that has not ended has asked of the session and was done: an order that comes twice is carried out once. */
export interface RunOrders {
  readonly run: string;
  readonly keys: readonly string[];
}

/** A timer that has not fired. */
export interface Timer {
  readonly id: string;
  readonly due: number;
  readonly data?: Json;
  /** Where it was set: what it sets off comes from there. */
  readonly cause: Cause;
}

/** How often a trigger has fired, and when last (0: never). */
export interface TriggerCount {
  readonly trigger: string;
  readonly times: number;
  readonly at: number;
  /** What the artifact that decides its test said last. */
  readonly held?: boolean;
}

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
}

export interface Variable {
  readonly value: Json;
  readonly class: VariableClass;
  readonly by: string;
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

export interface Totals {
  input: number;
  output: number;
  cost_usd: number;
  /** Turns whose stream ended well or was cut on purpose. */
  turns: number;
  /** Turns in a row that failed. */
  failedTurns: number;
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
}

/** A question to a person, open as long as it has no answer. */
export interface Review extends ReviewRequest {
  readonly at: number;
  readonly answer?: ReviewAnswer;
  readonly by?: string;
  readonly note?: string;
  /** Why its approval counts no longer. */
  readonly voided?: readonly string[];
}

export interface Asked {
  /** Counts requests from 1 on. */
  turn: number;
  /** Characters of its answer that are on the log already, from before a crash. */
  said: number;
}

/** A sub-agent at work: how much of its log is on this one. */
export interface ChildCursor {
  /** The action that called it. */
  readonly action: string;
  /** Tries of the action that are known to have failed: each try is a session of its own. */
  tries: number;
  /** Empty where nothing of this try is here yet. */
  session: string;
  /** The last event that was copied. */
  seq: number;
}

/**
 * What a session is: a fold of its events and of nothing else. Plain data that the fold changes in place; whoever holds
 * one owns it. `turns` and `actions` only ever grow at their end, `prompt.compacted` aside, so that a snapshot can be
 * written in parts.
 */
export interface SessionState {
  id: string;
  agent: string;
  manifest: { readonly path: string; readonly hash: string; readonly code?: true };
  model: string;
  seal?: string;
  parent?: ParentRef;
  maxTurns?: number;
  /** Whether a run leads it: it ends when the run does. */
  led?: true;
  task?: TaskState;
  /** Whether a final response ends the exchange only. */
  chat?: true;
  /** Whether it is a chat that waits for its next message: the time until then is nobody's. */
  idle: boolean;
  /** Turns before the exchange in hand: a chat's limit of turns is for each exchange. */
  turnsBefore: number;
  status: SessionStatus;
  input: string;
  result?: Json;
  error?: ErrorJson;
  /** The seq and time of the last event. */
  seq: number;
  at: number;
  startedAt: number;
  turn: number;
  /** Whether the model's stream of that turn has not ended yet. */
  turnOpen: boolean;
  /** The turns since the last compaction. */
  turns: readonly TurnRecord[];
  news: News;
  compaction?: Compaction;
  actions: Map<string, ActionState>;
  /** The last actions that were declared, RECENT_ACTIONS at most. */
  recent: readonly string[];
  /** Ids of actions that have not ended, in the order of their declaration. */
  open: ReadonlySet<string>;
  /** Sub-agents whose actions have not ended. */
  children: readonly ChildCursor[];
  /** Turns that sub-agents have ended, by the agent's name. */
  childTurns: readonly { readonly agent: string; readonly turns: number }[];
  /** The action whose result an `output_key` names: the last one that completed. */
  outputs: ReadonlyMap<string, string>;
  /** Targets by name, with the only action that called them; undefined once there was another. */
  called: ReadonlyMap<string, string | undefined>;
  metadata: Readonly<Record<string, Json>>;
  variables: ReadonlyMap<string, Variable>;
  /** Feeds that were loaded, that failed, or that were added in the session, by id. */
  feeds: ReadonlyMap<string, FeedState>;
  /** The built-in parts of the prompt that are left out: `builtin:results`. */
  off: readonly string[];
  /** Whose variables of `key: user` it has. */
  user?: string;
  balance?: number;
  totals: Totals;
  /** Turns in a row without any tag, and without anything that goes on: see the protocol, section 7. */
  bareTurns: number;
  idleTurns: number;
  /** What the turn in hand has brought so far. */
  signs: TurnSigns;
  /** Which request to the model comes next: requests that a crash cut short are asked again from where they were. */
  asked: Asked;
  /** Milliseconds in which nobody worked on the session, or all of it waited for a person. */
  downMs: number;
  /** The action whose failure ends the session (`on_error: fail`), until it has: what is undone for it comes first. */
  failing?: string;
  /** What people were asked, from the request to the end of its action. */
  reviews: readonly Review[];
  /** Hooks that were asked about what has not begun, or not been told, yet. */
  hooks: readonly HookMark[];
  /** Runs that triggers started and that have not ended, in the order of their start. */
  runs: readonly StartedRun[];
  orders: readonly RunOrders[];
  timers: readonly Timer[];
  triggers: readonly TriggerCount[];
  /** Updates of the metadata that counted, those taken over from elsewhere aside: before the first no condition holds. */
  metadataUpdates: number;
  variableUpdates: number;
  /** The last response, whether or not it was final. */
  response?: { readonly text: string; readonly final: boolean; readonly turn: number };
}

/** What `agent.actions_executed` goes back to. */
export const RECENT_ACTIONS = 100;

/** Copied, as the record of a turn is. */
const NO_NEWS: News = { messages: NONE, results: NONE, faults: NONE, rejected: NONE, changed: NONE };

/** For all sessions without metadata. */
export const NO_FIELDS: JsonObject = Object.freeze({});

/** The state's own, to be changed. */
export function ownFields(state: SessionState): Record<string, Json> {
  if (state.metadata === NO_FIELDS) state.metadata = {};
  return state.metadata as Record<string, Json>;
}

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
  news.workflows === undefined &&
  news.variables === undefined &&
  news.task === undefined &&
  news.feeds === undefined;

export const noSigns = (): TurnSigns => ({
  tags: false,
  deeds: false,
  responses: 0,
  thoughts: 0,
  unset: false,
  ifs: NONE,
});

/** A session of which nothing is known yet: folding its log from the first event on makes it whole. */
export const emptyState = (): SessionState => ({
  id: '',
  agent: '',
  manifest: { path: '', hash: '' },
  model: '',
  idle: false,
  turnsBefore: 0,
  status: 'running',
  input: '',
  seq: 0,
  at: 0,
  startedAt: 0,
  turn: 0,
  turnOpen: false,
  turns: NONE,
  news: emptyNews(),
  actions: new Map(),
  recent: NONE,
  open: NOBODY,
  children: NONE,
  childTurns: NONE,
  outputs: NOTHING,
  called: NOTHING,
  metadata: NO_FIELDS,
  variables: NOTHING,
  feeds: NOTHING,
  off: NONE,
  totals: { input: 0, output: 0, cost_usd: 0, turns: 0, failedTurns: 0 },
  bareTurns: 0,
  idleTurns: 0,
  signs: noSigns(),
  asked: { turn: 1, said: 0 },
  downMs: 0,
  reviews: NONE,
  hooks: NONE,
  runs: NONE,
  orders: NONE,
  timers: NONE,
  triggers: NONE,
  metadataUpdates: 0,
  variableUpdates: 0,
});
