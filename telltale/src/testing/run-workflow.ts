import type { RunEvent } from '../events/run-event.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { LoadedWorkflow, RunOptions, RunResult, WorkflowRun } from '../session/runs/run-types.ts';
import type { Runtime, RuntimeOptions } from '../session/runtime-types.ts';
import { openRuntime } from './open-runtime.ts';
import { createSkippingClock, type SkippingClock } from './skipping-clock.ts';

export interface RunWorkflowOptions<Input = JsonObject> extends RunOptions<Input> {
  /** A store in memory, unless this names another. With a `clock` in it no time is skipped. */
  readonly runtime?: RuntimeOptions;
  /** Called with the run as soon as it is there: answers its questions, sends it events. Until it is over no time is skipped. */
  readonly during?: (run: WorkflowRun, runtime: Runtime) => void | Promise<void>;
  /** Called once it has ended, or waits, while the runtime is still open. */
  readonly after?: (run: string, runtime: Runtime) => void | Promise<void>;
}

export interface FinishedRun {
  readonly result: RunResult;
  /** Its log. */
  readonly events: readonly RunEvent[];
}

/**
 * Runs a workflow to its end, on a runtime of its own that is closed afterwards. Where the run has nothing to do before a
 * time (a `wait`, the pause before another try, the time-out of a question) it is that time at once. One that only an
 * event or a person can help has the status `waiting`, unless `onWaiting` is `hold`.
 */
export async function runWorkflow<Input>(
  workflow: LoadedWorkflow<Input>,
  {
    runtime: options,
    during,
    after,
    onWaiting = 'release',
    ...start
  }: RunWorkflowOptions<NoInfer<Input>> = {},
): Promise<FinishedRun> {
  const clock = options?.clock === undefined ? createSkippingClock() : undefined;
  const runtime = await openRuntime({
    store: 'memory',
    ...(clock === undefined ? {} : { clock }),
    ...options,
  });
  try {
    const run = runtime.workflows.start(workflow, { ...start, onWaiting: 'hold' });
    await during?.(run, runtime);
    const result = await follow(run, runtime, clock, onWaiting);
    await after?.(run.id, runtime);
    return { result, events: await runtime.workflows.events(run.id) };
  } finally {
    await runtime.close();
  }
}

async function follow(
  run: WorkflowRun,
  { workflows }: Runtime,
  clock: SkippingClock | undefined,
  onWaiting: 'release' | 'hold',
): Promise<RunResult> {
  for await (const event of run.events) {
    if (event.type !== 'workflow.waiting') continue;
    // What has been sent to it meanwhile is heard first.
    await workflows.idle();
    const { status, waiting, seq } = await workflows.state(run.id);
    if (status !== 'waiting' || seq !== event.seq) continue;
    if (clock !== undefined && waiting?.due !== undefined) clock.skipTo(waiting.due);
    else if (onWaiting === 'release') {
      await run.interrupt();
      return { run: run.id, status, ...(waiting === undefined ? {} : { waiting }) };
    }
  }
  return run.result;
}
