import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type Cause, usageOf } from '../../log/event.ts';
import type { Usage } from '../../log/session-events.ts';
import type { StepAttempt } from '../../workflows/step-executor.ts';
import type { StepDeps } from '../../workflows/steps/step-deps.ts';
import {
  type Begin,
  BY_PARENT,
  type ChildEnd,
  type ChildSession,
  endedBefore,
  type Lineage,
  MAX_DEPTH,
  resultOf,
  tooDeep,
} from '../children/child-session.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import { readSession } from '../read-session.ts';
import type { StopReason } from '../stop.ts';
import type { RunEnvironment, RunsDeps } from './run-environment.ts';

export interface AgentStepCall {
  readonly agent: string;
  readonly input: string;
  readonly vars?: JsonObject | undefined;
  /** The id of the step's session, the same after a restart. */
  readonly session: string;
  readonly run: string;
  /** The run's group for fair scheduling. */
  readonly group: string;
  readonly step: string;
  /** The names of the agents above it. */
  readonly agents: readonly string[];
  /** The metadata of the run's session, for an agent that inherits it. */
  readonly metadata: () => Promise<JsonObject | undefined>;
  readonly cause: Cause;
  readonly signal: AbortSignal;
  readonly isReleased: () => boolean;
  /** Suspends the step while its agent waits. */
  readonly suspend: StepAttempt['suspend'];
  /** Called with its usage when it has ended. */
  readonly onUsage: (usage: Usage, cost_usd: number, model: string) => void;
}

/** The ancestry of a step's agent session. */
export const lineageOf = (
  parent: Lineage['parent'],
  group: string,
  cause: Cause,
  shown: JsonObject | undefined,
): Lineage => ({
  parent,
  group,
  cause,
  sharedFields: new Set(),
  shared: {},
  shown,
  variables: {},
  shownVariables: undefined,
  user: undefined,
  view: undefined,
  balance: undefined,
  limits: UNBOUNDED,
});

const UNBOUNDED: Lineage['limits'] = {
  isBounded: false,
  counted: () => Promise.resolve(),
  reached: () => undefined,
};

/** Runs the agent of a step, or continues its session from the log, and resolves with its result. */
export async function runAgentStep(
  deps: RunsDeps,
  environment: RunEnvironment,
  call: AgentStepCall,
): Promise<Json> {
  const { store, spawn } = deps;
  const { prepared } = environment;
  const { session, signal } = call;
  const agent = prepared.agents.get(call.agent) ?? ownAgent(environment, call.agent);
  if (agent === undefined) throw agentUnknown(call.agent, [...prepared.agents.keys()]);
  if (call.agents.length > MAX_DEPTH) throw tooDeep([...call.agents, call.agent]);
  const { manifest } = agent;
  const shown = manifest.metadata.inherit === 'none' ? undefined : await call.metadata();
  const parent = { session: call.run, action: call.step, agents: call.agents };
  const lineage = lineageOf(parent, call.group, call.cause, shown);
  const model = manifest.model === undefined ? { model: prepared.model } : {};
  const known = await store.info(session);
  if (known !== undefined && known.head > 0) {
    const ended = await endedBefore(store, session);
    if (ended !== undefined) return resultOf(manifest.name, ended);
  }
  const begin: Begin =
    known === undefined || known.head === 0
      ? {
          kind: 'start',
          id: session,
          agent,
          start: { input: call.input, ...model, ...(call.vars === undefined ? {} : { vars: call.vars }) },
          lineage,
        }
      : { kind: 'resume', id: session, agent, resume: model, lineage };
  signal.throwIfAborted();
  const child = spawn(begin);
  const end = () => {
    const reason = signal.reason instanceof Error ? signal.reason.message : String(signal.reason);
    child.stop(call.isReleased() ? leaving(child) : { kind: 'cancel', reason, by: BY_PARENT });
  };
  const resume = suspendWithAgent(child, session, call.suspend);
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = (await child.result) as ChildEnd;
    const { totals, model: used } = await readSession(store, session);
    call.onUsage(usageOf(totals), totals.cost_usd, used);
    signal.throwIfAborted();
    return resultOf(manifest.name, ended);
  } finally {
    signal.removeEventListener('abort', end);
    resume();
  }
}

/** A workflow may call the agent that it belongs to. */
export const ownAgent = ({ agent }: RunEnvironment, name: string) =>
  agent.manifest.name === name ? agent : undefined;

export const agentUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `No agent is named "${name}".`, {
    hint: suggest(name, known, 'Agents that can be called'),
  });

/** Suspends a step while its agent only waits for people. The returned function ends that. */
export function suspendWithAgent(
  { rest }: Pick<ChildSession, 'rest'>,
  session: string,
  suspend: StepAttempt['suspend'],
): () => void {
  let resume: (() => void) | undefined;
  const end = () => {
    resume?.();
    resume = undefined;
  };
  const look = () => {
    if (rest.reviews() === undefined) end();
    else resume ??= suspend(`agent ${session}`);
  };
  const deaf = rest.onMoved(look);
  look(); // the agent may be waiting already, for another step
  return () => {
    deaf();
    end();
  };
}

/**
 * How a session stops when its run is released. A waiting session records that on its log, so that an answer
 * resumes it.
 */
export const leaving = ({ rest }: Pick<ChildSession, 'rest'>): StopReason => ({
  kind: rest.reviews() === undefined ? 'interrupt' : 'wait',
});

export interface StepAgents {
  readonly targetsOf: StepDeps['targetsOf'];
  /** Call it once, when the walk is over. */
  release(): void;
}

/** Prepares agents that a run's agent may call, for steps that act with the tools of one of them. */
export function createStepAgents(
  { shelf, lateModel }: Pick<RunsDeps, 'shelf' | 'lateModel'>,
  { agents, model }: Pick<PreparedAgent, 'agents' | 'model'>,
): StepAgents {
  const stepAgents = new Map<string, Promise<PreparedAgent>>();
  const lend = async (name: string): Promise<PreparedAgent> => {
    const agent = agents.get(name);
    if (agent === undefined) throw agentUnknown(name, [...agents.keys()]);
    return shelf.prepare(agent, agent.manifest.model === undefined ? model : lateModel(agent));
  };
  return {
    async targetsOf(name) {
      const lending = stepAgents.get(name) ?? lend(name);
      stepAgents.set(name, lending);
      try {
        const { targets } = await lending;
        return { targets, ask: targets.ask };
      } catch (thrown) {
        stepAgents.delete(name); // another attempt may succeed
        throw thrown;
      }
    },
    release() {
      for (const lending of stepAgents.values()) lending.then(shelf.release, () => undefined); // the caller got the error
      stepAgents.clear();
    },
  };
}
