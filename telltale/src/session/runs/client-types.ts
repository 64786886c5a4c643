import type { ClientClaim } from '../../events/run-event.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { ClaimMessage } from './client-claim.ts';
import type { QuestionRef, Standing } from './client-standing.ts';
import type { ClientView } from './client-view.ts';
import type { LoadedWorkflow } from './run-types.ts';

export interface StartForClient {
  /** Who works on its tasks: the name that an MCP client gives itself. */
  readonly client: string;
  readonly input?: JsonObject;
}

export interface SettleOptions {
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
  /** Where a question stands, and the run that nobody called above its own. Rejects with `run_unknown`. */
  standing(ref: QuestionRef): Promise<{ readonly root: string; readonly standing: Standing }>;
  /** Sends what the client has to say of a task. It was judged before. The first for a question counts. */
  claim(run: string, by: string, claim: ClaimMessage): Promise<void>;
  /** What counts as the answer to a question; undefined where none has come. */
  claimed(ref: QuestionRef): Promise<ClientClaim | undefined>;
  /** Works on a run until it is the client's turn again, it waits for something else, or it has ended. */
  settle(run: string, options: SettleOptions): Promise<ClientView>;
  /** Those that have not ended, newest first. */
  open(client?: string): Promise<readonly OpenClientRun[]>;
}

export interface ClientRunsOptions {
  /** Agents that are loaded already: their manifests are not read again. */
  readonly agents?: readonly LoadedAgent<unknown>[];
  /** Goes on although a manifest is not the one that a run started with. */
  readonly acceptChanges?: boolean;
}
