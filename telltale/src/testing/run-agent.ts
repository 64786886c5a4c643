import type { ObservedEvent, SessionEvent } from '../events/event.ts';
import type { LoadedAgent } from '../session/loaded-agent.ts';
import type {
  Runtime,
  RuntimeOptions,
  Session,
  SessionResult,
  StartOptions,
} from '../session/runtime-types.ts';
import { openRuntime } from './open-runtime.ts';

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
