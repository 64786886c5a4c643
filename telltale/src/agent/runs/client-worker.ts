import type { RunJournal } from '../../engine/run-log.ts';
import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { ClientClaim, ClientQuestion } from '../../log/run-event.ts';
import type { ApprovalState, ClientTask } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { stopped } from '../../tools/stop-and-wait.ts';
import type { Task, TaskReport, TaskWorkers, WorkerCall } from '../../workflows/guided/task.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { LoadedWorkflow } from './run-types.ts';

/** What a run's log says that it waits for while its client works. */
export const WAITS_FOR_CLIENT = 'the client';

/**
 * Tasks of a run that an MCP client works on. Each is put on the run's log, which is then let go of: what the client
 * sends comes onto the log as `client.claimed`, whichever process it is sent to, and the step goes on with it. Those that
 * wait are in `claims` and look again when they are called.
 */
export function createClientWorkers(journal: RunJournal, claims: Set<() => void>): TaskWorkers {
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
      return report(journal, claims, call, () => asked(call.step, attemptOf(call.step)));
    },
    answer(task, nth, word, call) {
      const last = asked(call.step, attemptOf(call.step));
      if (last === undefined || last.nth <= nth) {
        const again = word.kind === 'again' ? { again: { text: word.text, by: word.by } } : {};
        ask({ ...questionOf(task, call, nth + 1), ...again }, call);
      }
      return report(journal, claims, call, () => asked(call.step, attemptOf(call.step)));
    },
  };
}

/** Resolves with the claim to the last question of a step; the step is parked until it comes. */
function report(
  journal: RunJournal,
  claims: Set<() => void>,
  { signal, park, step }: WorkerCall,
  last: () => ClientTask | undefined,
): Promise<TaskReport> {
  const what = `step "${step}"`;
  if (signal.aborted) return Promise.reject(stopped(what, signal));
  const there = claimed(last());
  if (there !== undefined) return Promise.resolve(there);
  return new Promise((resolve, reject) => {
    const goOn = park(WAITS_FOR_CLIENT);
    const end = () => {
      forget();
      claims.delete(look);
      signal.removeEventListener('abort', onAbort);
      goOn();
    };
    const onAbort = () => {
      end();
      reject(stopped(what, signal));
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
    claims.add(look);
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
    // What a client does is not on any log of ours.
    evidence: [],
    turns: 0,
    work: [],
  };
};

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
export type ClientWorkerStanding =
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
  ): Promise<{ readonly root: string; readonly standing: ClientWorkerStanding }>;
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

/** The workflow and all that it calls, itself first. */
export function calledWorkflows(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<WorkflowManifest> {
  const reached = new Set([workflow]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const manifest of reached)
    for (const step of allSteps(manifest)) {
      const called = step.type === 'workflow' ? all.get(step.target) : undefined;
      if (called !== undefined) reached.add(called);
    }
  return reached;
}

/** Why a client cannot work on a workflow's tasks; undefined where it can. */
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
