import type { RunEvent } from '../../events/run-event.ts';
import type { RunResult, WorkflowRun } from '../../session/runs/run-types.ts';
import type { Io } from '../io.ts';
import { createRootCauseFold, type RootCause } from '../view/root-cause.ts';
import { createStepLog, type StepView } from '../view/step-log.ts';
import type { RunTotals } from './closing-run-lines.ts';
import type { WorkflowView } from './workflow-view.ts';

export interface FollowedRun {
  readonly result: RunResult;
  /** What was running when the run was interrupted here. */
  readonly cutOff: readonly StepView[];
  /** Whether the reader of our output has gone away. */
  readonly unread: boolean;
  /** What somebody has to fix, where there is something. */
  readonly rootCause: RootCause | undefined;
}

/** Shows a run to its end, or until it only waits. Ctrl-C, and a reader who goes away, interrupt it. */
export async function followWorkflow(
  run: WorkflowRun,
  { stdout, signal, clock }: Pick<Io, 'stdout' | 'signal' | 'clock'>,
  { view, seen }: { readonly view: WorkflowView; readonly seen: number },
): Promise<FollowedRun> {
  const steps = createStepLog();
  const causes = createRootCauseFold();
  const totals = { steps: 0, cost_usd: 0 };
  const began = clock.monotonic();
  let cutOff: readonly StepView[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    cutOff = steps.running().map((step) => ({ ...step }));
    stopped ??= run.interrupt();
    // Awaited below; until then nobody may take it for unhandled.
    stopped.catch(() => undefined);
  };
  const count = (event: RunEvent) => {
    if (event.type === 'step.completed' || event.type === 'step.failed') totals.steps++;
    if (event.type === 'model.used') totals.cost_usd += event.cost_usd;
  };
  const watch = async () => {
    for await (const event of run.events) {
      steps.take(event);
      if (event.seq <= seen) view.recall(event);
      else {
        count(event);
        causes.take(event);
        await view.show(event);
      }
      if (stdout.closed && stopped === undefined) stop();
    }
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    view.waits?.();
    const [result] = await Promise.all([run.result, watch()]);
    await stopped;
    const took: RunTotals = { ...totals, ms: clock.monotonic() - began };
    const rootCause = causes.of(result);
    await view.end(result, took, rootCause);
    return { result, cutOff, unread: stdout.closed, rootCause };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
