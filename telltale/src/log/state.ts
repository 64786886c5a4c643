import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { ActionState, ActionStatus } from './action.ts';
import type { Cause, ManifestPin, ParentRef, SessionEnvironment } from './event.ts';
import type { FeedState } from './feed-event.ts';
import type { HookMark } from './hook-marks.ts';
import type { ReviewAnswer, ReviewRequest, StandingOffer } from './review-event.ts';
import type { GivenTask, VariableClass } from './session-events.ts';
import type { PendingHandoff, ThreadStateThread } from './thread-state.ts';
import {
  type Asked,
  type Compaction,
  emptyNews,
  type News,
  noSigns,
  type TurnRecord,
  type TurnSigns,
} from './turn-record.ts';

export type SessionStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'stalled' | 'cancelled';

export interface Variable {
  readonly value: Json;
  readonly class: VariableClass;
  readonly by: string;
}

export interface Totals {
  input: number;
  output: number;
  /** Whether tokens are among these that were counted here, since a provider gave no figures. */
  estimated?: true;
  cost_usd: number;
  /** Turns whose stream ended well or was cut on purpose. */
  turns: number;
  /** Turns in a row that failed. */
  failedTurns: number;
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

/** What a person approved for the rest of the session. */
export interface StandingApproval extends Pick<ReviewRequest, 'review' | 'target' | 'grants' | 'definition'> {
  readonly offer: StandingOffer;
  readonly by: string;
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
  manifest: ManifestPin;
  model: string;
  seal?: string;
  environment?: SessionEnvironment;
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
  /** Whether its request failed before the first character: it is made again. */
  again?: true;
  /** The model that takes the place of the session's own: in this turn, or, where it is not active, in the one before. */
  fallback?: { readonly model: string; readonly active: boolean };
  /** Requests in a row that were refused because the prompt did not fit. */
  exceeded?: number;
  /** The tokens that the model can read, where it turned out to be less than was known of it. */
  window?: number;
  /** What the request in hand was estimated at. */
  promptTokens?: number;
  /** The hash of what stood before and beside the messages of the last prompt. */
  promptFrame?: string;
  /** The last request of which the provider told the size: what it said, and what had been estimated. */
  counted?: Counted;
  /** The turns since the last compaction. */
  turns: TurnRecord[];
  news: News;
  compaction?: Compaction;
  actions: Map<string, ActionState>;
  /** The newest holder of each id that was used again in a later turn (action-id.ts). Absent where there is none. */
  reused?: Map<string, string>;
  /** The last actions that were declared, RECENT_ACTIONS at most. */
  recent: string[];
  /** What is left of these once the session is over and has let go of its actions. */
  executed?: readonly ExecutedAction[];
  /** Ids of actions that have not ended, in the order of their declaration. */
  open: Set<string>;
  /** Sub-agents whose actions have not ended. */
  children: readonly ChildCursor[];
  /** Where the conversation has moved to another agent. */
  thread?: ThreadStateThread;
  /** A handoff that this agent has asked for in its last turn. */
  handoff?: PendingHandoff;
  /** The last event of the parent's log that this session was told of, where it speaks in the parent's conversation. */
  toldSeq?: number;
  /** Turns that sub-agents have ended, by the agent's name. */
  childTurns: readonly { readonly agent: string; readonly turns: number }[];
  /** The action whose result an `output_key` names: the last one that completed. */
  outputs: Map<string, string>;
  /** Targets by name, with the only action that called them; undefined once there was another. */
  called: Map<string, string | undefined>;
  metadata: Record<string, Json>;
  variables: Map<string, Variable>;
  /** Feeds that were loaded, that failed, or that were added in the session, by id. */
  feeds: Map<string, FeedState>;
  /** The built-in parts of the prompt that are left out: `builtin:results`. */
  off: string[];
  /** Whose variables of `key: user` it has. */
  user?: string;
  balance?: number;
  /** The balance before anything was charged. */
  granted?: number;
  totals: Totals;
  /** Turns in a row without any tag, and without anything that goes on: see the protocol, section 7. */
  bareTurns: number;
  idleTurns: number;
  /** What the turn in hand has brought so far. */
  signs: TurnSigns;
  /** The same of earlier turns, where actions stand in them. */
  spoilt?: readonly string[];
  /** Which request to the model comes next: requests that a crash cut short are asked again from where they were. */
  asked: Asked;
  /** Milliseconds in which nobody worked on the session, or all of it waited for a person. */
  downMs: number;
  /** The action whose failure ends the session (`on_error: fail`), until it has: what is undone for it comes first. */
  failing?: string;
  /** What people were asked, from the request to the end of its action. */
  reviews: readonly Review[];
  /** Absent where nothing was approved for the rest of the session. */
  standing?: readonly StandingApproval[];
  /** The last event that is another session's, of one that was forked. */
  forkedAt?: number;
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
  /** A final response that does not count yet, since the model had not seen all it rests on: an empty one confirms it. */
  held?: string;
}

/** Tokens of a request as its provider counted them, against what was estimated before. */
export interface Counted {
  readonly estimated: number;
  readonly input: number;
}

/** What `agent.actions_executed` goes back to. */
export const RECENT_ACTIONS = 100;

/** One of `agent.actions_executed`. */
export interface ExecutedAction {
  readonly id: string;
  readonly name: string;
  readonly status: ActionStatus;
}

/** The last actions that were declared, and how far they came. A loop: it is run at the end of each session. */
export function executedActions({ executed, recent, actions }: SessionState): readonly ExecutedAction[] {
  if (executed !== undefined) return executed;
  const found: ExecutedAction[] = [];
  for (const id of recent) {
    const state = actions.get(id);
    if (state !== undefined) found.push({ id, name: state.action.name, status: state.status });
  }
  return found;
}

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
  turns: [],
  news: emptyNews(),
  actions: new Map(),
  recent: [],
  open: new Set(),
  children: [],
  childTurns: [],
  outputs: new Map(),
  called: new Map(),
  metadata: {},
  variables: new Map(),
  feeds: new Map(),
  off: [],
  totals: { input: 0, output: 0, cost_usd: 0, turns: 0, failedTurns: 0 },
  bareTurns: 0,
  idleTurns: 0,
  signs: noSigns(),
  asked: { turn: 1, said: 0 },
  downMs: 0,
  reviews: [],
  hooks: [],
  runs: [],
  orders: [],
  timers: [],
  triggers: [],
  metadataUpdates: 0,
  variableUpdates: 0,
});

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
