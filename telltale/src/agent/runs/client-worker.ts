import type { RunJournal } from '../../engine/run-log.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { ClientClaim, ClientQuestion } from '../../log/run-event.ts';
import type { ApprovalState, ClientTask } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { abortError } from '../../tools/abort.ts';
import type { Task, TaskReport, TaskWorkers, WorkerCall } from '../../workflows/guided/task.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { LoadedWorkflow } from './run-types.ts';

/** What a run's log shows as its reason to wait while its client works. */
export const WAITS_FOR_CLIENT = 'the client';

/**
 * Lets an MCP client work on the tasks of a run. Each task is written to the run's log and the run is
 * released. The client's answer arrives as `client.claimed` in whichever process gets it, and the step
 * continues with it. Waiting steps register in `wakeListeners` and check again when called.
 */
export function createClientWorkers(journal: RunJournal, wakeListeners: Set<() => void>): TaskWorkers {
  const { state } = journal;
  const asked = (step: string, attempt: number): ClientTask | undefined =>
    state.client?.findLast((task) => task.step === step && task.attempt === attempt);
  const attemptOf = (step: string): number => state.steps.get(step)?.attempts ?? 1;
  const ask = (question: ClientQuestion, { cause }: WorkerCall) =>
    journal.append({ type: 'client.asked', ...question }, cause);
  const questionOf = ({ prompt, requires, accepts }: Task, { step }: WorkerCall, nth: number) => ({
    step,
    attempt: attemptOf(step),
    nth,
    prompt,
    requires,
    accepts,
  });

  return {
    give(task, call) {
      if (asked(call.step, attemptOf(call.step)) === undefined) ask(questionOf(task, call, 1), call);
      return report(journal, wakeListeners, call, () => asked(call.step, attemptOf(call.step)));
    },
    answer(task, nth, word, call) {
      const last = asked(call.step, attemptOf(call.step));
      if (last === undefined || last.nth <= nth) {
        const again = word.kind === 'again' ? { again: { text: word.text, by: word.by } } : {};
        ask({ ...questionOf(task, call, nth + 1), ...again }, call);
      }
      return report(journal, wakeListeners, call, () => asked(call.step, attemptOf(call.step)));
    },
  };
}

/** Resolves with the claim for the last question of a step, which is suspended until then. */
function report(
  journal: RunJournal,
  wakeListeners: Set<() => void>,
  { signal, suspend, step }: WorkerCall,
  last: () => ClientTask | undefined,
): Promise<TaskReport> {
  const what = `step "${step}"`;
  if (signal.aborted) return Promise.reject(abortError(what, signal));
  const there = claimed(last());
  if (there !== undefined) return Promise.resolve(there);
  return new Promise((resolve, reject) => {
    const resume = suspend(WAITS_FOR_CLIENT);
    const end = () => {
      forget();
      wakeListeners.delete(look);
      signal.removeEventListener('abort', onAbort);
      resume();
    };
    const onAbort = () => {
      end();
      reject(abortError(what, signal));
    };
    const look = () => {
      const found = claimed(last());
      if (found === undefined) return;
      end();
      resolve(found);
    };
    const forget = journal.subscribe(({ type }) => {
      if (type === 'client.claimed') look();
    });
    wakeListeners.add(look);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

const claimed = (task: ClientTask | undefined): TaskReport | undefined => {
  if (task?.claim === undefined) return undefined;
  const { by, notes, context_updates, artifacts } = task.claim;
  return {
    kind: 'claimed',
    nth: task.nth,
    by,
    notes,
    context_updates,
    artifacts,
    // The actions of a client are not on any log.
    evidence: [],
    turns: 0,
    work: [],
  };
};

/** The state of a run for the client that works on its tasks. */
export type ClientView =
  /** It is the client's turn. `run` is the run of the task: this one, or one that it called. */
  | { readonly kind: 'task'; readonly run: string; readonly task: ClientTask }
  /** The run waits for something else. */
  | {
      readonly kind: 'waiting';
      readonly for: string;
      readonly due?: number;
      readonly reviews: readonly Pick<ApprovalState, 'review' | 'prompt' | 'options'>[];
    }
  /** The runtime is executing steps. */
  | { readonly kind: 'busy'; readonly done: number }
  | { readonly kind: 'completed'; readonly output: Json }
  | { readonly kind: 'failed'; readonly error: ErrorJson }
  | { readonly kind: 'cancelled'; readonly reason: string };

/**
 * The body of a message of kind `claim`. The sender is in the message's `from`. It was checked before it was
 * sent.
 */
export type ClaimMessage = Omit<ClientClaim, 'by'>;

/** Identifies the question of a task. */
export interface QuestionRef {
  readonly run: string;
  readonly step: string;
  readonly attempt: number;
  readonly nth: number;
}

/** The status of a question to a client. */
export type QuestionStatus =
  | { readonly kind: 'open'; readonly task: ClientTask }
  /** It has the latest answer. */
  | { readonly kind: 'accepted'; readonly task: ClientTask }
  /** It was answered, and later questions were answered too. */
  | { readonly kind: 'passed' }
  /** It was withdrawn, because the step failed, started again or was cancelled. */
  | { readonly kind: 'withdrawn'; readonly why: string };

export interface StartForClient {
  /** The name that the client uses for itself. */
  readonly client: string;
  /** The owner of its key: `token:ci`, `user:ana`. */
  readonly identity: string;
  readonly input?: JsonObject;
}

export interface SettleOptions {
  /** The caller. Runs of others are unknown to it. */
  readonly identity: string;
  /** How long to wait for the runtime's own steps and for timers. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The claim that was just sent. Its question is no longer the current task. */
  readonly sent?: QuestionRef | undefined;
  /** Called with the number of completed steps whenever it may have changed. */
  readonly onMoved?: (done: number) => void;
}

export interface OpenClientRun {
  readonly run: string;
  readonly workflow: string;
  readonly client: string;
  readonly status: string;
  readonly startedAt: number;
}

/** Runs whose tasks an MCP client works on, instead of agents. */
export interface ClientRuns {
  /** Resolves with the id of the run once it is on its log. */
  start(workflow: LoadedWorkflow<unknown>, options: StartForClient): Promise<string>;
  /**
   * The status of a question, and the root run above it. Rejects with `run_unknown`, also for runs of others.
   */
  standing(
    ref: QuestionRef,
    identity: string,
  ): Promise<{ readonly root: string; readonly standing: QuestionStatus }>;
  /**
   * Sends a client's claim, which was checked before. The first claim for a question counts. `counts` means
   * that this one does. For `sent`, use `claimed` after the run has settled.
   */
  claim(run: string, by: string, claim: ClaimMessage): Promise<'counts' | 'sent'>;
  /** The claim that counts for a question. Undefined if there is none. */
  claimed(ref: QuestionRef): Promise<ClientClaim | undefined>;
  /** Works on a run until it is the client's turn, it waits for something else, or it has ended. */
  settle(run: string, options: SettleOptions): Promise<ClientView>;
  /** The client's open runs, newest first. */
  open(client: string, identity: string): Promise<readonly OpenClientRun[]>;
}

export interface ClientRunsOptions {
  /** Agents that are loaded already, so that their manifests are not read again. */
  readonly agents?: readonly LoadedAgent<unknown>[];
  /** Accepts a manifest that has changed since the run started. */
  readonly acceptChanges?: boolean;
}

/** The workflow and all workflows that it calls, itself first. */
export function calledWorkflows(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<WorkflowManifest> {
  const reached = new Set([workflow]);
  // Iterating over a Set includes values that are added on the way.
  for (const manifest of reached)
    for (const step of allSteps(manifest)) {
      const called = step.type === 'workflow' ? all.get(step.target) : undefined;
      if (called !== undefined) reached.add(called);
    }
  return reached;
}

/** Why a client cannot work on a workflow's tasks. Undefined if it can. */
export function clientRefusal(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): RuntimeError | undefined {
  for (const { name, ...manifest } of calledWorkflows(workflow, all))
    for (const step of allSteps(manifest))
      if (step.type === 'task' && step.evidence.length > 0)
        return cannotProve(name, step.name, step.evidence);
  return undefined;
}

const cannotProve = (workflow: string, step: string, evidence: readonly string[]) =>
  new RuntimeError(
    'no_evidence',
    `The workflow "${workflow}" cannot be worked on by a client: its step "${step}" demands proof of calls (${evidence.join(', ')}), and what a client does is not on any log here.`,
    {
      hint: 'Run it with an agent of this runtime (telltale workflow run), or take "evidence" out of the step and judge it by "verify".',
    },
  );
