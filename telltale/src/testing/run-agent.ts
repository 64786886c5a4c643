import type { LoadedAgent } from '../agent/loaded-agent.ts';
import type { LoadedWorkflow, RunOptions, RunResult, WorkflowRun } from '../agent/runs/run-types.ts';
import type {
  Runtime,
  RuntimeOptions,
  Session,
  SessionResult,
  StartOptions,
} from '../agent/runtime-types.ts';
import { type Clock, createSystemClock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { ObservedEvent, SessionEvent } from '../log/event.ts';
import type { RunEvent } from '../log/run-event.ts';
import { createMemoryStore as create, type MemoryStoreOptions } from '../store/memory/memory-store.ts';
import type { Store } from '../store/store.ts';
import type { OpenMcpServer } from '../tools/mcp/mcp-server.ts';

export interface RunAgentOptions extends StartOptions {
  /** A store in memory, unless this names another. */
  readonly runtime?: RuntimeOptions;
  /** Called with the session as soon as it is there. */
  readonly during?: (session: Session<unknown>, runtime: Runtime) => void | Promise<void>;
  /** Called once it has ended, while the runtime is still open. */
  readonly after?: (session: string, runtime: Runtime) => void | Promise<void>;
}

export interface AgentRun<Output> {
  readonly result: SessionResult<Output>;
  /** Its log. */
  readonly events: readonly SessionEvent[];
  /** What a subscriber saw: the log's events, each behind its commit, and the live ones between them. */
  readonly observed: readonly ObservedEvent[];
}

/** Runs an agent to its end, on a runtime of its own that is closed afterwards. */
export async function runAgent<Output>(
  agent: LoadedAgent<Output>,
  { runtime: options, during, after, ...start }: RunAgentOptions,
): Promise<AgentRun<Output>> {
  const runtime = await openRuntime({ store: 'memory', ...options });
  try {
    const session = runtime.start(agent, start);
    const observed: ObservedEvent[] = [];
    session.subscribe((event) => observed.push(event));
    await during?.(session, runtime);
    const result = await session.result;
    await after?.(session.id, runtime);
    return { result, events: await runtime.events(session.id), observed };
  } finally {
    await runtime.close();
  }
}

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

/** Time as it is, that can also be moved on: what has come due by then fires at once. */
export interface SkippingClock extends Clock {
  /** Does nothing where that time has come. */
  skipTo(time: number): void;
}

interface AgentTimer {
  readonly due: number;
  readonly fire: () => void;
  cancel: () => void;
}

function createSkippingClock(real: Clock = createSystemClock()): SkippingClock {
  let skipped = 0;
  const timers = new Set<AgentTimer>();
  const now = () => real.now() + skipped;
  const monotonic = () => real.monotonic() + skipped;
  const arm = (timer: AgentTimer) => {
    timer.cancel = real.after(timer.due - monotonic(), () => {
      timers.delete(timer);
      timer.fire();
    });
  };
  return {
    now,
    monotonic,
    after(delayMs, fire) {
      const timer: AgentTimer = { due: monotonic() + Math.max(0, delayMs), fire, cancel: () => undefined };
      timers.add(timer);
      arm(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    skipTo(time) {
      const by = time - now();
      if (!(by > 0)) return;
      skipped += by;
      for (const timer of [...timers].sort((a, b) => a.due - b.due)) {
        timer.cancel();
        arm(timer);
      }
    },
  };
}

/**
 * The runtime that `createRuntime` of "telltale" gives, loaded when it is first needed: whoever only wants a scripted
 * model or a clock does not wait for it.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { createRuntime } = await import('../agent/create-runtime.ts');
  return createRuntime({ mcp: openMcpServer, ...options });
}

const openMcpServer: OpenMcpServer = async (start) => {
  const { createMcpClient } = await import('../mcp/open-mcp-server.ts');
  return createMcpClient()(start);
};

/** The whole store without a file. It outlives the runtimes that are created on it: closing those does not close it. */
export function createMemoryStore(options: Partial<MemoryStoreOptions> = {}): Store {
  return create({ clock: createSystemClock(), ...options });
}

/** All events of a session, live ones included, until it ends, or until one that `until` holds of. */
export async function collectEvents(
  session: Pick<Session<unknown>, 'events'>,
  until?: (event: ObservedEvent) => boolean,
): Promise<readonly ObservedEvent[]> {
  const events: ObservedEvent[] = [];
  for await (const event of session.events) {
    events.push(event);
    if (until?.(event) === true) break;
  }
  return events;
}
