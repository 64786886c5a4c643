import type { Covered } from '../lib/approved-files.ts';
import type { InvokeRecord } from '../lib/calls.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause, HookRecord, ManifestPin } from './event.ts';
import type { ReplacedReview, ReviewAnswer } from './review-event.ts';
import type { Usage } from './session-events.ts';

/** The agent in whose name a run works. */
export interface RunManifest extends ManifestPin {
  readonly agent: string;
}

/** What a run belongs to. */
export interface RunOrigin {
  /** The session whose trigger or action started it, and the place on its log that `${agent.*}` shows. */
  readonly session?: { readonly id: string; readonly seq: number };
  /** Whether it leads that session: tasks without an agent of their own are given to it, and it ends with the run. */
  readonly leads?: true;
  /** Who works on its tasks from outside, in place of agents: the name that an MCP client gives itself. */
  readonly client?: string;
  /** Whose key that client has, as the server knows: only its clients go on with the run. Older runs do not say. */
  readonly identity?: string;
  /** The action of that session, where it is one. */
  readonly action?: string;
  /** The trigger, and what `${trigger.*}` shows. */
  readonly trigger?: { readonly id: string; readonly seen: JsonObject };
  /** The run whose step called it. */
  readonly parent?: { readonly run: string; readonly step: string };
  /** Workflows that led here by setting each other off or calling each other, this one last. */
  readonly chain: readonly string[];
  /** The agents above it by name, from the one that nobody called on. */
  readonly agents: readonly string[];
}

/** What a run waits for (`workflow.waiting`) whose trigger allows only so many at a time, and behind which other. */
export const turnBehind = (run: string): string => `${ITS_TURN} behind ${run}`;
const ITS_TURN = 'its turn';
export const isTurn = (what: string): boolean => what.startsWith(ITS_TURN);

/** What people are told of a wait. A turn has no time of its own: its run only looks again then. */
export const shownWait = ({ for: what, due }: Wait): Wait =>
  due === undefined || isTurn(what) ? { for: what } : { for: what, due };

interface Wait {
  readonly for: string;
  readonly due?: number;
}

/** A step of the workflow definition that a run is pinned to. */
export interface PinnedStep {
  /** The names of the states and steps around it, then its own: `files/show`. */
  readonly at: string;
  /** `command` stands for a `script` step that runs a program. */
  readonly type: string;
  /** Covers what the step does. Its name, its place, and how its failure is handled are not part of it. */
  readonly hash: string;
}

/** What becomes of a step that a changed workflow leaves in doubt. */
export type StepDecision = 'rerun' | 'skip' | 'fail';

/** A question to a person: the run goes on with their answer. */
export interface ApprovalRequest {
  readonly review: string;
  readonly step: string;
  readonly prompt: string;
  readonly options: readonly string[];
  readonly assignee?: string;
  /** What it is about, where it is no `approval` step: begin a step, execute a plan, or settle what agent and verifier do not. */
  readonly kind?: 'confirm' | 'plan' | 'escalation';
  /** The report on the step that it is about, of those that `step.claimed`, `step.stuck` and `verify` count. */
  readonly nth?: number;
  /** When it is too late, and what then counts. */
  readonly due?: number;
  /** Where it is a call that may not be made without a person's approval: what is approved is what is done. */
  readonly call?: Covered & {
    /** `tool "deploy"`. */
    readonly target: string;
    /** What of the manifest demands it. */
    readonly because: string;
    readonly input: JsonObject;
    /** What the approval is for, as the target will look for it. */
    readonly grants: readonly string[];
    /** The hash of what runs: an approval of one definition is none of another. */
    readonly definition?: string;
  };
  /** The review in whose place it is asked, and what is no longer as it was there. */
  readonly replaces?: ReplacedReview;
}

export interface PlannedAction {
  readonly action: string;
  readonly parameters: JsonObject;
  /** A CEL test of `result`; absent: success is enough. */
  readonly expect?: string;
  /** What the model expects in words, which no test judges: whoever writes the notes is told. */
  readonly expected?: string;
}

/** A task as a client sees it, the `nth` time that it is put to it. */
export interface ClientQuestion {
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
  readonly prompt: string;
  /** What has to come with the claim and what may, by key, each with its schema. */
  readonly requires: Readonly<Record<string, JsonObject>>;
  readonly accepts: Readonly<Record<string, JsonObject>>;
  /** Why it is put again, and who says so. */
  readonly again?: { readonly text: string; readonly by: string };
}

export interface ClientClaim {
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
  /** The client: whose key it has, and what it calls itself. In older runs only the latter. */
  readonly by: string;
  readonly notes: string;
  readonly context_updates: JsonObject;
  readonly artifacts: readonly Json[];
}

/** What a verifier said of the report `nth` of a step. */
export interface VerifyRecord {
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
  /** `model fast`, `artifact NAME.METHOD`, `command npm`. */
  readonly by: string;
  readonly assessment: 'pass' | 'retry' | 'escalate';
  readonly confidence?: 'low' | 'medium' | 'high';
  readonly reasoning: string;
  /** What the agent is told, where it is to try again. */
  readonly instruction?: string;
  /** Why it counts although the verifier did not say so: it failed, was too slow or made no sense. */
  readonly fallback?: string;
  readonly ms: number;
  readonly usage?: Usage;
  readonly cost_usd?: number;
}

/**
 * What happens in a workflow run. `step` is an address: the step's name, with the rounds and states around it in front
 * (`each[2]/build`, `drafting@3/write`), so that every time a step is begun has one of its own.
 */
export type RunEventBody =
  | {
      readonly type: 'workflow.started';
      readonly workflow: string;
      /** The agent in whose name it runs: its tools, models and permissions. Pinned by the hash. */
      readonly manifest: RunManifest;
      /** The model of its prompts, where it is another than the agent's own. */
      readonly model?: string;
      readonly input: JsonObject;
      readonly origin: RunOrigin;
      /** The workflow's own variables at the start. */
      readonly vars: JsonObject;
      /** Those of them that outlive the run, each with what its value is kept by: `agent:NAME`, `user:ada`. */
      readonly kept?: Readonly<Record<string, string>>;
      /** What decision artifacts see as balance, where the agent has a budget. */
      readonly balance?: number;
      /** The steps of the workflow, in order. Absent in runs that began before they were recorded. */
      readonly steps?: readonly PinnedStep[];
    }
  | {
      readonly type: 'workflow.resumed';
      readonly by: string;
      /** Files that its manifest names and that have changed since, and the hashes of today. */
      readonly changed_files?: readonly string[];
      readonly files?: Readonly<Record<string, string>>;
    }
  /** Somebody accepted a changed definition. From here on the run is pinned to it. */
  | {
      readonly type: 'workflow.changed';
      readonly by: string;
      readonly manifest: RunManifest;
      readonly steps: readonly PinnedStep[];
      /** New steps, each with the step whose place it takes. Both are written as in `steps`. */
      readonly replaced: Readonly<Record<string, string>>;
      /** What becomes of steps that had begun and not ended, by address. */
      readonly decided: Readonly<Record<string, { readonly as: StepDecision; readonly output?: Json }>>;
      /** New steps that run although their place has passed. */
      readonly run_new: readonly string[];
      /** Set when the run fails because of this step, which the workflow no longer has. */
      readonly fails?: string;
    }
  /** Nothing is to be done until a timer, an event or a person: no process holds it meanwhile. */
  | { readonly type: 'workflow.waiting'; readonly for: string; readonly due?: number }
  /** Somebody wants it ended: what runs is stopped, and what was done is undone where it can be. */
  | { readonly type: 'workflow.cancelling'; readonly reason: string; readonly by: string }
  | { readonly type: 'workflow.completed'; readonly output: Json }
  | { readonly type: 'workflow.failed'; readonly error: ErrorJson; readonly step?: string }
  | { readonly type: 'workflow.cancelled'; readonly reason: string; readonly by: string }
  | {
      readonly type: 'state.entered';
      readonly state: string;
      readonly from?: string;
      /** What decided: `initial`, `transition 2`, `step NAME`. */
      readonly by: string;
      /** How often a state was entered so far, this time included. */
      readonly visit: number;
    }
  | {
      readonly type: 'step.started';
      readonly step: string;
      readonly attempt: number;
      /** What it was given, resolved; absent where steps stand inside of it. */
      readonly input?: JsonObject;
      /** Whether it may be done again where a crash leaves it in doubt. */
      readonly repeatable: boolean;
    }
  | {
      readonly type: 'step.completed';
      readonly step: string;
      readonly output: Json;
      readonly ms: number;
      readonly attempts: number;
      readonly output_key?: string;
      /** What the agent that worked on it has to say. */
      readonly notes?: string;
    }
  /** Who works on a task says that it is done. Nothing advances by it. */
  | {
      readonly type: 'step.claimed';
      readonly step: string;
      readonly attempt: number;
      /** Counts the worker's reports from 1 on. */
      readonly nth: number;
      /** The session or client. */
      readonly by: string;
      readonly notes: string;
      readonly context_updates?: JsonObject;
      readonly artifacts?: readonly Json[];
      /** Ids of actions on the session's log. */
      readonly evidence?: readonly string[];
      /** Requests to the model that it took so far. */
      readonly turns: number;
    }
  /** Who works on a task does not come further. */
  | {
      readonly type: 'step.stuck';
      readonly step: string;
      readonly attempt: number;
      readonly nth: number;
      readonly by: string;
      readonly why: string;
    }
  /** A task is put to the client that works on the run's tasks, or put to it again. */
  | ({ readonly type: 'client.asked' } & ClientQuestion)
  /** What the client sent for it. Nothing advances by it. */
  | ({ readonly type: 'client.claimed' } & ClientClaim)
  | ({ readonly type: 'verify' } & VerifyRecord)
  /** What a model plans for a `plan` step; `problem`: why it cannot be executed. */
  | {
      readonly type: 'plan.made';
      readonly step: string;
      readonly attempt: number;
      /** 1, and 2 for the plan that follows a failed one. */
      readonly nth: number;
      readonly plan: readonly PlannedAction[];
      readonly problem?: string;
    }
  /** An action of a plan is about to be done. */
  | {
      readonly type: 'plan.acting';
      readonly step: string;
      readonly attempt: number;
      readonly nth: number;
      readonly index: number;
      readonly repeatable: boolean;
    }
  | {
      readonly type: 'plan.acted';
      readonly step: string;
      readonly attempt: number;
      readonly nth: number;
      readonly index: number;
      readonly output?: Json;
      readonly error?: ErrorJson;
      /** Whether what was expected came true. */
      readonly held: boolean;
      readonly ms: number;
    }
  | {
      readonly type: 'step.retrying';
      readonly step: string;
      /** The try that is to come, and when. */
      readonly attempt: number;
      readonly error: ErrorJson;
      readonly due: number;
    }
  | {
      readonly type: 'step.failed';
      readonly step: string;
      readonly error: ErrorJson;
      readonly ms: number;
      readonly attempts: number;
      /** What the run does about it. */
      readonly policy: 'fail' | 'continue' | 'goto';
    }
  | {
      readonly type: 'step.skipped';
      readonly step: string;
      /** `changed`: the step is new, and the run was past its place when the change was accepted. */
      readonly reason: 'if' | 'condition' | 'needs' | 'race' | 'goto' | 'changed';
      readonly because?: string;
      /** The step whose place it takes, and whose output counts as its own. */
      readonly output_of?: string;
    }
  | { readonly type: 'step.cancelled'; readonly step: string; readonly reason: string }
  /**
   * A crash left it in doubt, and it is not one to do twice. `step.failed` with code `interrupted` follows, or what was
   * decided when a changed workflow was accepted. `again`: it begins anew, as the workflow defines it now.
   */
  | {
      readonly type: 'step.interrupted';
      readonly step: string;
      readonly attempt: number;
      readonly again?: true;
    }
  /** A completed step is about to be undone; not `repeatable`: what a crash leaves in doubt then is not done again. */
  | { readonly type: 'step.compensating'; readonly step: string; readonly repeatable: boolean }
  /** What undoes a completed step was done, or failed. */
  | { readonly type: 'step.compensated'; readonly step: string; readonly error?: ErrorJson }
  /** A test came out, for good: `at_step` is `ADDRESS:if`, `ADDRESS:while#2`, `STATE@3:transition 0`. */
  | {
      readonly type: 'if.decided';
      readonly at_step: string;
      readonly test: string;
      readonly held: boolean;
      readonly problem?: string;
    }
  | ({ readonly type: 'invoke' } & InvokeRecord)
  | ({ readonly type: 'hook.ran' } & HookRecord)
  | {
      readonly type: 'component.injected';
      readonly component: string;
      readonly step: string;
      /** `always`, the test, or the artifact that said so. */
      readonly because: string;
    }
  | { readonly type: 'timer.set'; readonly id: string; readonly due: number }
  | { readonly type: 'timer.fired'; readonly id: string }
  /** An event from outside, for the `wait` of today or of later: `event` is what its `match` looks at. */
  | {
      readonly type: 'signal.received';
      readonly event: string;
      readonly data: JsonObject;
      readonly from: string;
    }
  | {
      readonly type: 'variable.changed';
      readonly name: string;
      readonly from: Json;
      readonly to: Json;
      readonly by: string;
    }
  | ({ readonly type: 'review.requested' } & ApprovalRequest)
  | {
      readonly type: 'review.resolved';
      readonly review: string;
      readonly answer: ReviewAnswer;
      /** Which of its options. */
      readonly choice: string;
      readonly by: string;
      readonly note?: string;
      /** Which of the answers that were sent it is: whoever sent another hears that theirs does not count. */
      readonly key?: string;
    }
  /** What was approved is not what would run any more: the approval counts no longer. */
  | { readonly type: 'review.voided'; readonly review: string; readonly changed: readonly string[] }
  | {
      readonly type: 'budget.charged';
      readonly what: 'artifact';
      readonly amount: number;
      readonly balance: number;
    }
  | {
      /** What a model used for a step. */
      readonly type: 'model.used';
      readonly step: string;
      readonly model: string;
      readonly usage: Usage;
      readonly cost_usd: number;
      /** The session that used it, where an agent works on a task. */
      readonly worker?: string;
    }
  | { readonly type: 'audit'; readonly who: string; readonly what: string }
  | { readonly type: 'custom'; readonly name: string; readonly data: Json };

/** Where an event stands on the log of its run. */
export interface RunHead {
  readonly seq: number;
  readonly at: number;
  readonly run: string;
  readonly cause: Cause;
}

export type RunEvent = RunEventBody & RunHead;
export type RunEventType = RunEventBody['type'];
export type RunEventOf<Type extends RunEventType> = Extract<RunEvent, { readonly type: Type }>;
