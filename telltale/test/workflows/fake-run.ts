import type { RunJournal } from '../../src/engine/run-log.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { reduceRun, stepName } from '../../src/log/reduce-run.ts';
import type { RunEvent, RunEventBody, RunOrigin } from '../../src/log/run-event.ts';
import { emptyRun, type RunState } from '../../src/log/run-state.ts';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import type { SimpleStep } from '../../src/manifest/schema/steps/step.ts';
import { workflow } from '../../src/manifest/schema/workflow.ts';
import { allSteps } from '../../src/workflows/machine/composite.ts';
import type { Locals } from '../../src/workflows/scope.ts';
import type { StepAttempt, StepExecutors } from '../../src/workflows/step-executor.ts';

/** A checked workflow. */
export const workflowOf = (document: object): WorkflowManifest =>
  workflow().parse({ kind: 'Workflow', name: 'flow', ...document });

export interface FakeJournal extends RunJournal {
  readonly events: RunEvent[];
}

/** A journal in memory: folds at once, tells those who listen a moment later, as after a commit. */
export function fakeJournal(
  clock: Clock = createSimulatedClock(),
  state: RunState = emptyRun(),
): FakeJournal {
  const events: RunEvent[] = [];
  const listeners = new Set<(event: RunEvent) => void>();
  let sealed = false;
  return {
    state,
    events,
    append(body, cause) {
      const from = cause ?? state.started;
      const seq = state.seq + 1;
      if (sealed) return { stream: 'run1', seq, depth: 0 };
      const event: RunEvent = { ...body, seq, at: clock.now(), run: 'run1', cause: from };
      reduceRun(state, event);
      events.push(event);
      queueMicrotask(() => {
        for (const listener of listeners) listener(event);
      });
      return { stream: 'run1', seq, depth: from.depth + 1 };
    },
    flushed: () => Promise.resolve(),
    committedSeq: () => state.seq,
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    seal() {
      sealed = true;
    },
  };
}

export interface StepInProgress {
  readonly input?: JsonObject;
  readonly vars?: JsonObject;
  readonly origin?: Partial<RunOrigin>;
}

export const begin = (
  journal: RunJournal,
  { input = {}, vars = {}, origin = {} }: StepInProgress = {},
): void => {
  journal.append({
    type: 'workflow.started',
    workflow: 'flow',
    manifest: { path: 'flow.yml', hash: 'h', agent: 'tester' },
    input,
    origin: { chain: ['flow'], agents: [], ...origin },
    vars,
  });
};

/** Puts a step on the log that was begun and completed. */
export function completed(
  journal: RunJournal,
  step: string,
  output: Json,
  more: Partial<RunEventBody> = {},
): void {
  journal.append({ type: 'step.started', step, attempt: 1, repeatable: true });
  journal.append({ type: 'step.completed', step, output, ms: 1, attempts: 1, ...more } as RunEventBody);
}

export interface Doing {
  readonly result: Promise<Json>;
  /** What it is parked for now, and until when. */
  suspended(): { readonly for: string; readonly due?: number | undefined } | undefined;
  stop(reason?: unknown): void;
}

/** Does a step as the machine does: ready, on the log, run, on the log. */
export async function doStep(
  executors: StepExecutors,
  journal: RunJournal,
  manifest: WorkflowManifest,
  address: string,
  { locals = {}, attempt = 1 }: { readonly locals?: Locals; readonly attempt?: number } = {},
): Promise<Doing> {
  const step = [...allSteps(manifest)].find(({ name }) => name === stepName(address)) as SimpleStep;
  const place = { step, address, locals };
  const ready = await executors.ready(place);
  const known = journal.state.steps.get(address);
  const { input, repeatable } = ready;
  const cause =
    known?.status === 'running'
      ? known.cause
      : journal.append({ type: 'step.started', step: address, attempt, input, repeatable });
  const parks = new Set<{ readonly for: string; readonly due?: number | undefined }>();
  const controller = new AbortController();
  const call: StepAttempt = {
    ...place,
    input,
    attempt,
    signal: controller.signal,
    idempotencyKey: `${journal.state.id}:${address}`,
    cause,
    suspend(waitsFor, due) {
      const suspended = { for: waitsFor, due };
      parks.add(suspended);
      return () => {
        parks.delete(suspended);
      };
    },
  };
  const result = ready.run(call).then((output) => {
    journal.append({ type: 'step.completed', step: address, output, ms: 1, attempts: attempt });
    return output;
  });
  result.catch(() => undefined); // whoever looks at it hears of it
  return {
    result,
    suspended: () => [...parks][0],
    stop: (reason = new RuntimeError('cancelled', 'The run was cancelled.')) => controller.abort(reason),
  };
}

/** What a promise that has to reject rejects with. */
export const failure = (promise: Promise<unknown>): Promise<RuntimeError> =>
  promise.then(
    (value) => {
      throw new Error(`should have failed, but gave ${JSON.stringify(value)?.slice(0, 300)}`);
    },
    (thrown: unknown) => {
      if (thrown instanceof RuntimeError) return thrown;
      throw thrown;
    },
  );
