import type { ClientClaim } from '../../events/run-event.ts';
import type { ApprovalState, ClientTask } from '../../events/run-state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { LoadedWorkflow } from './run-types.ts';

/** What a run is to the client that works on its tasks. */
export type ClientView =
  /** It is the client's turn. `run` is the one that the task belongs to: this one, or one that it called. */
  | { readonly kind: 'task'; readonly run: string; readonly task: ClientTask }
  /** It waits for something else. */
  | {
      readonly kind: 'waiting';
      readonly for: string;
      readonly due?: number;
      readonly reviews: readonly Pick<ApprovalState, 'review' | 'prompt' | 'options'>[];
    }
  /** Steps of the runtime's own are at work. */
  | { readonly kind: 'busy'; readonly done: number }
  | { readonly kind: 'completed'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: ErrorJson }
  | { readonly kind: 'cancelled'; readonly reason: string };

/** The body of a message of kind `claim`; who sends it is the message's `from`. It was judged before it was sent. */
export type ClaimMessage = Omit<ClientClaim, 'by'>;

/** Which question an answer is to. */
export interface QuestionRef {
  readonly run: string;
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
}

/** What has become of a question that was put to a client. */
export type Standing =
  | { readonly kind: 'open'; readonly task: ClientTask }
  /** It has been answered, and nothing has been since. */
  | { readonly kind: 'accepted'; readonly task: ClientTask }
  /** It has been answered, and others after it. */
  | { readonly kind: 'passed' }
  /** It was withdrawn: the step has failed, was begun anew or was cancelled. */
  | { readonly kind: 'withdrawn'; readonly why: string };

export interface StartForClient {
  /** The name that the client gives itself. */
  readonly client: string;
  /** Whose key it has: `token:ci`, `user:ana`. */
  readonly identity: string;
  readonly input?: JsonObject;
}

export interface SettleOptions {
  /** Who asks: a run of another is unknown to them. */
  readonly identity: string;
  /** How long steps of the runtime's own, and timers, are waited for. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The claim that was just sent: the question that it answers is no task in hand any more. */
  readonly sent?: QuestionRef | undefined;
  /** Steps that have completed, whenever something has moved. */
  readonly onMoved?: (done: number) => void;
}

export interface OpenClientRun {
  readonly run: string;
  readonly workflow: string;
  readonly client: string;
  readonly status: string;
  readonly startedAt: number;
}

/** Runs whose tasks somebody outside works on, instead of agents: an MCP client. */
export interface ClientRuns {
  /** Resolves with the id of the run once it is on its log. */
  start(workflow: LoadedWorkflow<unknown>, options: StartForClient): Promise<string>;
  /** Where a question stands, and the run that nobody called above its own. Rejects with `run_unknown`, also for a run of another. */
  standing(
    ref: QuestionRef,
    identity: string,
  ): Promise<{ readonly root: string; readonly standing: Standing }>;
  /**
   * Sends what the client has to say of a task. It was judged before. The first for a question counts: `counts` says
   * whether this one does, where that is known at once; else `claimed` does, once the run has settled.
   */
  claim(run: string, by: string, claim: ClaimMessage): Promise<'counts' | 'sent'>;
  /** What counts as the answer to a question; undefined where none has come. */
  claimed(ref: QuestionRef): Promise<ClientClaim | undefined>;
  /** Works on a run until it is the client's turn again, it waits for something else, or it has ended. */
  settle(run: string, options: SettleOptions): Promise<ClientView>;
  /** Those of the client that have not ended, newest first. */
  open(client: string, identity: string): Promise<readonly OpenClientRun[]>;
}

export interface ClientRunsOptions {
  /** Agents that are loaded already: their manifests are not read again. */
  readonly agents?: readonly LoadedAgent<unknown>[];
  /** Goes on although a manifest is not the one that a run started with. */
  readonly acceptChanges?: boolean;
}
