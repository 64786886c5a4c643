import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause } from './event.ts';
import type { HookMark } from './hook-marks.ts';
import type { ReviewAnswer } from './review-event.ts';
import type {
  ApprovalRequest,
  ClientClaim,
  ClientQuestion,
  PinnedStep,
  PlannedAction,
  RunEventBody,
  RunManifest,
  RunOrigin,
  StepDecision,
  VerifyRecord,
} from './run-event.ts';

/** What a changed workflow means for one step of a run. */
export interface StepChange {
  /** The path of the step; where it is in doubt, the address of the one time that it began. */
  readonly step: string;
  /**
   * `kept`: the workflow still has it. `new`: it was added. `gone`: it was removed. `in_doubt`: it had begun, had not
   * ended, and was changed, renamed or removed, so that nobody knows whether it took effect.
   */
  readonly change: 'kept' | 'new' | 'gone' | 'in_doubt';
  /** How the log knows it. Absent where it has not begun. */
  readonly status?: StepStatus;
  /** The step that takes its place now. */
  readonly now?: string;
  /** What happens to it when the change is accepted. */
  readonly outcome: string;
  /** What can be decided about it. */
  readonly choices?: readonly StepDecision[];
  readonly decided?: StepDecision;
  /** Whether it is a new step that `run_new` can have run although its place has passed. */
  readonly passed?: true;
}

/** What the workflow as it is now means for a run. */
export interface WorkflowChanges {
  readonly run: string;
  readonly workflow: string;
  /** The manifest of the agent in whose name it runs. */
  readonly manifest: string;
  /** Whether it is another than the run is pinned to. */
  readonly changed: boolean;
  /** Steps of this run and of those that it called, in order. */
  readonly steps: readonly StepChange[];
  /** Steps in doubt that nobody has decided about. */
  readonly undecided: readonly string[];
}

export interface ChangeDecisions {
  /**
   * What becomes of steps in doubt, by address. A step of a run that a step called is `CALLING_STEP:STEP`. A skipped
   * step counts as done with `null`, or with the given output.
   */
  readonly decide?: Readonly<Record<string, StepDecision | { readonly skip: Json }>>;
  /** New steps, by path, that run although their place has passed. */
  readonly run_new?: readonly string[];
}

/** How a run goes on with a workflow that has changed: `true` where nothing has to be decided. */
export type AcceptChanges = boolean | ChangeDecisions;

export type RunStatus = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';

export type StepStatus =
  | 'running'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'
  | 'interrupted'
  | 'compensated';

/** What is known of one time that a step was begun: a fold of its events. */
export interface StepState {
  /** Its address. */
  readonly step: string;
  status: StepStatus;
  attempts: number;
  /** Tries that failed and were followed by another: one that a crash left in doubt is not among them. */
  retries?: number;
  repeatable: boolean;
  startedAt: number;
  /** When its last try began: what its time-out counts from. */
  triedAt?: number;
  /** Where on the log it completed, failed or was cancelled: what undoing goes back by. */
  endedSeq?: number;
  /** Where its last try stands on the log. */
  cause: Cause;
  input?: JsonObject;
  output?: Json;
  error?: ErrorJson;
  /** What undoes it was begun, and has no end on the log. */
  undoing?: { readonly repeatable: boolean };
  /** What the run did about its failure. */
  policy?: 'fail' | 'continue' | 'goto';
  /** When its next try is due. */
  due?: number;
  reason?: string;
  /** Of a task or plan, of its current attempt. */
  guided?: GuidedState;
  /** It begins anew as the changed workflow defines it: its recorded input counts no longer. */
  again?: true;
}

/** The last change of the workflow that was accepted for a run. */
export interface AcceptedChange {
  /** Where it stands on the log: steps that began after it are not concerned. */
  readonly seq: number;
  /** New steps by path, each with the path of the step whose place it takes; those of earlier changes too. */
  readonly replaced: ReadonlyMap<string, string>;
  readonly decided: ReadonlyMap<string, { readonly as: StepDecision; readonly output?: Json }>;
  readonly runNew: ReadonlySet<string>;
  readonly fails?: string;
}

type Body<Type extends RunEventBody['type']> = Omit<Extract<RunEventBody, { readonly type: Type }>, 'type'>;

/** What is known of the work on a task or a plan, in order. */
export interface GuidedState {
  readonly claims: Body<'step.claimed'>[];
  readonly stuck: Body<'step.stuck'>[];
  readonly verdicts: VerifyRecord[];
  readonly plans: PlanState[];
}

export interface PlanState {
  readonly nth: number;
  readonly plan: readonly PlannedAction[];
  readonly problem?: string;
  /** By their place in the plan: begun, and with an end once it has come. */
  readonly acts: Map<number, { readonly repeatable: boolean; readonly end?: Body<'plan.acted'> }>;
}

/** A task that was put to a client, and what it sent for it. */
export interface ClientTask extends ClientQuestion {
  readonly at: number;
  /** Where it stands on the log. */
  readonly seq: number;
  claim?: ClientClaim & { readonly seq: number; readonly at: number };
}

export interface ApprovalState extends ApprovalRequest {
  readonly at: number;
  /** Where it stands on the log. */
  readonly seq: number;
  readonly answer?: ReviewAnswer;
  readonly answeredAt?: number;
  readonly choice?: string;
  readonly by?: string;
  readonly note?: string;
  /** Why its approval counts no longer. */
  readonly voided?: readonly string[];
}

/** What a run is: a fold of its log and of nothing else. Changed in place by the fold; whoever holds one owns it. */
export interface RunState {
  id: string;
  workflow: string;
  manifest: RunManifest;
  /** The steps of that definition, where they were recorded. */
  pinned?: readonly PinnedStep[];
  change?: AcceptedChange;
  model?: string;
  input: JsonObject;
  origin: RunOrigin;
  /** What variables that outlive the run are kept by. */
  kept?: Readonly<Record<string, string>>;
  status: RunStatus;
  waiting?: { readonly for: string; readonly due?: number };
  /** Who wants it ended, and why, until it is. */
  cancelling?: { readonly reason: string; readonly by: string };
  output?: Json;
  error?: ErrorJson;
  /** The place of the first event: what everything without a nearer cause comes from. */
  started: Cause;
  /** The place of its end. */
  ended?: Cause;
  seq: number;
  at: number;
  startedAt: number;
  /** By address, in the order of their first start. */
  steps: Map<string, StepState>;
  /** `${steps.NAME}`: the last that completed under the step's own name. */
  outputs: Map<string, Json>;
  /** Tests that came out, by `at_step`. */
  decided: Map<string, boolean>;
  /** The state a machine is in, and the states it has been in, in order. */
  state?: string;
  visited: { readonly state: string; readonly visit: number; readonly by: string }[];
  variables: Map<string, Json>;
  timers: Map<string, { readonly due: number; readonly fired: boolean }>;
  /** Events from outside, in order; a wait that took one knows its place in the list. */
  signals: { readonly event: string; readonly data: JsonObject; readonly seq: number }[];
  reviews: ApprovalState[];
  /** Of a run whose tasks a client works on, in order. */
  client?: ClientTask[];
  /** Hooks that were asked about steps that have not ended; `action` is the step's address. */
  hooks: readonly HookMark[];
  /** How many decisions artifacts were asked for: the number of a call is part of its seed. */
  invokes: number;
  /** What came out of them, by `where`: a place is decided once in a run. */
  answers: Map<string, Json>;
  /** `COMPONENT STEP` of what joined prompts: a step that is prepared again says so once. */
  injected: Set<string>;
  balance?: number;
  /** What its decisions cost so far. */
  charged: number;
  usage: { input: number; output: number; estimated?: true; cost_usd: number };
  /** The same of each session that works on its tasks. */
  ledUsage: Map<string, { readonly input: number; readonly output: number; readonly cost_usd: number }>;
}

export const emptyRun = (): RunState => ({
  id: '',
  workflow: '',
  manifest: { path: '', hash: '', agent: '' },
  input: {},
  origin: { chain: [], agents: [] },
  status: 'running',
  started: { stream: '', seq: 0, depth: 0 },
  seq: 0,
  at: 0,
  startedAt: 0,
  steps: new Map(),
  outputs: new Map(),
  decided: new Map(),
  visited: [],
  variables: new Map(),
  timers: new Map(),
  signals: [],
  reviews: [],
  hooks: [],
  invokes: 0,
  charged: 0,
  answers: new Map(),
  injected: new Set(),
  usage: { input: 0, output: 0, cost_usd: 0 },
  ledUsage: new Map(),
});
