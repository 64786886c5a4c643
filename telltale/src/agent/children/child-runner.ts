import { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { PerformCall } from '../../scheduler/scheduler-deps.ts';
import { agentCall, takesVars } from '../../workflows/steps/call-below.ts';
import { readSession } from '../read-session.ts';
import { isReleased, type Stop, type StopReason } from '../stop.ts';
import type { ChildDeps } from './child-edges.ts';
import { childId } from './child-id.ts';
import { childLineage } from './child-lineage.ts';
import type { Begin, Spawn } from './child-session.ts';
import {
  BY_PARENT,
  type ChildEnd,
  DEPTH_LIMIT,
  endedBefore,
  idTaken,
  MAX_DEPTH,
  notInSession,
  resultOf,
  tooDeep,
} from './child-session.ts';
import { createLogCopy } from './copy-log.ts';

/** Runs the sub-agent that an action calls, from its start or from where its log ends, and gives its result. */
export type RunChild = (call: PerformCall) => Promise<Json>;

export const createChildRunner =
  (deps: ChildDeps): RunChild =>
  async (call) => {
    try {
      return await runChild(deps, call);
    } catch (thrown) {
      if (thrown instanceof RuntimeError && thrown.code === DEPTH_LIMIT) endCircle(deps, call, thrown);
      throw thrown;
    }
  };

async function runChild(deps: ChildDeps, call: PerformCall): Promise<Json> {
  const { prepared, log, store } = deps;
  const { action, signal } = call;
  const { state } = log;
  const agent = prepared.agents.get(action.name);
  if (agent === undefined) throw notInSession(action.name);
  const agents = [...(state.parent?.agents ?? []), state.agent];
  if (agents.length > MAX_DEPTH) throw tooDeep([...agents, action.name]);
  const session = childId(state, action.id);
  // Nothing of it is written before the action that it stands for: a sub-agent that nobody remembers would be lost.
  const [known] = await Promise.all([store.info(session), log.flushed()]);
  signal.throwIfAborted();
  const { manifest } = agent;
  const parent = { session: state.id, action: action.id, agents };
  const begin = { id: session, agent, lineage: childLineage(deps, manifest, parent, call.cause) };
  // One that names no model runs on that of its caller.
  const model = manifest.model === undefined ? { model: prepared.model } : {};
  const copy = createLogCopy(
    { ...deps, parent: prepared.agent.manifest },
    { child: manifest, session, action: action.id },
  );
  const follow = (begun: Begin) => followChild(deps, begun, copy.take, call);
  if (known === undefined || known.head === 0) {
    const target = prepared.targets.find('agent', action.name);
    const start = { ...agentCall(call.input, target !== undefined && takesVars(target)), ...model };
    return resultOf(manifest.name, await follow({ kind: 'start', ...begin, start }));
  }
  const { parent: works } = await readSession(store, session);
  if (works?.session !== state.id || works.action !== action.id) throw idTaken(manifest.name, session);
  const goOn = async (): Promise<ChildEnd> => {
    await copy.catchUp();
    return (await endedBefore(store, session)) ?? follow({ kind: 'resume', ...begin, resume: model });
  };
  return resultOf(manifest.name, await whenFree(deps, goOn, signal));
}

/** How long whoever has a sub-agent's log is waited for. */
const OWNED_MS = 5_000;
const AGAIN_MS = 50;

/** Whoever answers a question of the sub-agent, or ends it, has its log for a moment: nothing fails for that. */
export async function whenFree<Given>(
  { clock }: Pick<ChildDeps, 'clock'>,
  ask: () => Promise<Given>,
  signal: AbortSignal,
): Promise<Given> {
  const until = clock.monotonic() + OWNED_MS;
  for (;;) {
    try {
      return await ask();
    } catch (thrown) {
      const isOwned = thrown instanceof RuntimeError && thrown.code === 'stream_owned';
      if (!isOwned || signal.aborted || clock.monotonic() >= until) throw thrown;
    }
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve));
  }
}

/** Resolves when it has ended, and not before: whoever cancels its caller waits for it. */
async function followChild(
  { spawn, stop, called }: ChildDeps,
  begin: Begin,
  onEvent: Parameters<ReturnType<Spawn>['subscribe']>[0],
  { action, signal }: PerformCall,
): Promise<ChildEnd> {
  signal.throwIfAborted();
  const child = spawn(begin);
  const forget = child.subscribe(onEvent);
  const leave = called.add(action.id, child);
  const end = () => child.stop(stopOf(stop, signal.reason));
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = await child.result;
    signal.throwIfAborted();
    return ended as ChildEnd; // a child's result is JSON, as its log has it
  } finally {
    signal.removeEventListener('abort', end);
    forget();
    leave();
  }
}

/** Where the caller is let go of, so is the sub-agent; else it is over. */
export function stopOf(stop: Stop, why: unknown): StopReason {
  if (isReleased(stop)) return { kind: stop.reason?.kind === 'wait' ? 'wait' : 'interrupt' };
  return { kind: 'cancel', reason: why instanceof Error ? why.message : String(why), by: BY_PARENT };
}

/**
 * An agent hears once that a call was one too deep, and may do without. If it asks again in a later turn, it is in a
 * circle, and ends: so does the one that called it, once it has asked again itself, and the circle comes to its end
 * after some dozens of sessions at the most.
 */
function endCircle({ log, stop }: ChildDeps, { action }: PerformCall, error: RuntimeError): void {
  const { actions } = log.state;
  const turn = actions.get(action.id)?.turn ?? 0;
  for (const other of actions.values())
    if (other.error?.code === DEPTH_LIMIT && other.turn < turn) {
      stop.now({ kind: 'fail', error });
      return;
    }
}
