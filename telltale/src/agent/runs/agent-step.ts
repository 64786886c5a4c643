import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import type { Cause } from '../../log/event.ts';
import { usageOf } from '../../log/event.ts';
import type { Usage } from '../../log/session-events.ts';
import type { LeafCall } from '../../workflows/step-executor.ts';
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
import { readSession } from '../read-session.ts';
import type { StopReason } from '../stop.ts';
import type { Realm, RunsDeps } from './run-environment.ts';

export interface AgentStepCall {
  readonly agent: string;
  readonly input: string;
  readonly vars?: JsonObject | undefined;
  /** The session that the step stands for: the same after a restart. */
  readonly session: string;
  readonly run: string;
  /** Who takes turns for the run. */
  readonly group: string;
  readonly step: string;
  /** The agents above it by name. */
  readonly agents: readonly string[];
  /** The metadata of the session that the run belongs to, for an agent that inherits it to read. */
  readonly metadata: () => Promise<JsonObject | undefined>;
  readonly cause: Cause;
  readonly signal: AbortSignal;
  readonly isLetGo: () => boolean;
  /** Of the step: where its agent only waits, so does it. */
  readonly park: LeafCall['park'];
  /** What it used, once it has ended. */
  readonly onUsage: (usage: Usage, cost_usd: number, model: string) => void;
}

/** What the session of a step's agent has of its run. */
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

/** Runs the agent that a step calls, from its start or from where its log ends, and gives its result. */
export async function runAgentStep(deps: RunsDeps, realm: Realm, call: AgentStepCall): Promise<Json> {
  const { store, spawn } = deps;
  const { prepared } = realm;
  const { session, signal } = call;
  const agent = prepared.agents.get(call.agent) ?? ownAgent(realm, call.agent);
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
    child.stop(call.isLetGo() ? leaving(child) : { kind: 'cancel', reason, by: BY_PARENT });
  };
  const goOn = parkWithAgent(child, session, call.park);
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = (await child.result) as ChildEnd;
    const { totals, model: used } = await readSession(store, session);
    call.onUsage(usageOf(totals), totals.cost_usd, used);
    signal.throwIfAborted();
    return resultOf(manifest.name, ended);
  } finally {
    signal.removeEventListener('abort', end);
    goOn();
  }
}

/** A workflow may call the agent in whose name it runs. */
export const ownAgent = ({ agent }: Realm, name: string) =>
  agent.manifest.name === name ? agent : undefined;

export const agentUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `No agent is named "${name}".`, {
    hint: suggest(name, known, 'Agents that can be called'),
  });

/** Parks a step for as long as the session of its agent only waits for people. The returned function ends that. */
export function parkWithAgent(
  { rest }: Pick<ChildSession, 'rest'>,
  session: string,
  park: LeafCall['park'],
): () => void {
  let goOn: (() => void) | undefined;
  const end = () => {
    goOn?.();
    goOn = undefined;
  };
  const look = () => {
    if (rest.reviews() === undefined) end();
    else goOn ??= park(`agent ${session}`);
  };
  const deaf = rest.onMoved(look);
  look(); // it may be another step of the same agent that comes while it waits
  return () => {
    deaf();
    end();
  };
}

/** How a session is let go of with its run: one that only waits says so on its log, and is found when that is over. */
export const leaving = ({ rest }: Pick<ChildSession, 'rest'>): StopReason => ({
  kind: rest.reviews() === undefined ? 'interrupt' : 'wait',
});
