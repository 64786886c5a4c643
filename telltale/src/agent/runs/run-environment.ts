import type { Engine } from '../../engine/engine.ts';
import type { InFlightCalls } from '../../engine/in-flight.ts';
import type { Slots } from '../../engine/slots.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IdSource } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunOrigin } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { frozenCopy } from '../../manifest/schema/plain-values.ts';
import type { Model } from '../../models/model.ts';
import type { Store } from '../../store/store.ts';
import type { Approve } from '../../tools/target.ts';
import type { AgentShelf } from '../agent-cache.ts';
import { agentView, readLastSaid } from '../agent-view.ts';
import type { Spawn } from '../children/child-session.ts';
import { loadAgent } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import { readSession } from '../read-session.ts';
import type { Watcher } from '../runtime-types.ts';
import { runChanged, runInCode, workflowGone } from './run-errors.ts';
import type { AskRun } from './run-questions.ts';

/** Services of the runtime that runs use. */
export interface RunsDeps extends RunAgentSourceDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly random: () => number;
  readonly shelf: AgentShelf;
  readonly lateModel: RunEnvironmentDeps['lateModel'];
  readonly spawn: Spawn;
  readonly snapshots: AgentSnapshots;
  readonly ids: IdSource;
  /** The user whose variables of `key: user` a run without a session uses. */
  readonly user: string;
  readonly slots: Slots;
  readonly underWay: InFlightCalls;
  readonly approve?: Approve | undefined;
  readonly ask?: AskRun | undefined;
  readonly watchers: ReadonlySet<Watcher>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** Reports errors that belong to no run: bugs, and failures of the store. */
  readonly onError: (error: unknown) => void;
}

/**
 * The agent whose tools, models and permissions a run uses: one of this process, or read again from its
 * manifest.
 */
export interface RunAgentSource {
  readonly agent: LoadedAgent<unknown>;
  /** The model of its prompts, if it is not the agent's own. */
  readonly model?: string | Model | undefined;
  /** Set if a session of the agent runs in this process, so that its model is open already. */
  readonly ofSession?: true;
}

export interface RunEnvironmentDeps {
  readonly shelf: AgentShelf;
  /** The agent's own model, opened on first use. A workflow that never asks it needs no API key. */
  readonly lateModel: (agent: LoadedAgent<unknown>) => Model;
}

export interface RunEnvironment extends RunAgentSource {
  readonly prepared: PreparedAgent;
  readonly workflow: WorkflowManifest;
}

export interface RunAgentSourceDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The agents that this process has loaded, if it is a member of a fleet. */
  readonly agents?: (() => readonly LoadedAgent<unknown>[]) | undefined;
}

/**
 * Finds or reads the agent of a run. Refused if the definition has changed, unless `any` definition is
 * accepted.
 */
export async function readAgentSource(
  state: RunState,
  { env, cwd, agents }: RunAgentSourceDeps,
  which: 'pinned' | 'any' = 'pinned',
): Promise<RunAgentSource> {
  const { id, manifest, model } = state;
  if (manifest.code === true) throw runInCode(id, manifest.path);
  // The same manifest may have another path on this machine.
  const known = agents?.().find(
    (each) => each.hash === manifest.hash && each.manifest.name === manifest.agent,
  );
  if (known !== undefined) return { agent: known, model };
  const agent = await loadAgent(manifest.path, { env, cwd, name: manifest.agent });
  if (agent.hash !== manifest.hash && which === 'pinned') throw runChanged(state);
  return { agent, model };
}

/** Prepares the agent of a run. Release `prepared` when the work is done. */
export async function openRunEnvironment(
  deps: RunEnvironmentDeps,
  agentSource: RunAgentSource,
  workflow: string,
): Promise<RunEnvironment> {
  const { agent } = agentSource;
  const model = agentSource.model ?? (agentSource.ofSession === true ? undefined : deps.lateModel(agent));
  const prepared = await deps.shelf.prepare(agent, model);
  const manifest = prepared.workflows.get(workflow);
  if (manifest !== undefined) return { ...agentSource, workflow: manifest, prepared };
  deps.shelf.release(prepared);
  throw workflowGone(workflow, agent);
}

/** Variables that outlive a run: the scope of each, and the stored values. */
export interface RunStoredValues {
  readonly scopes: Readonly<Record<string, string>>;
  readonly values: JsonObject;
}

/** A run to create. */
export interface NewRun {
  readonly id: string;
  readonly workflow: WorkflowManifest;
  readonly agentSource: RunAgentSource;
  readonly input: JsonObject;
  readonly origin: RunOrigin;
  readonly vars?: JsonObject | undefined;
  /** Set by `createRun`. */
  readonly kept?: RunStoredValues | undefined;
  readonly balance?: number | undefined;
  readonly cause?: Cause | undefined;
}

/** Snapshots kept in memory. One change of state may start many workflows, and all of them read the same snapshot. */
const MAX_KEPT = 32;

/**
 * The value of `${agent.*}` for a session at a position on its log, frozen. Use it only if an expression
 * names it, because it reads the log.
 */
export type AgentSnapshots = (session: string, seq: number, prepared: PreparedAgent) => Promise<JsonObject>;

export function createAgentSnapshots(
  store: Store,
  env: Readonly<Record<string, string | undefined>>,
): AgentSnapshots {
  const kept = new Map<string, Promise<JsonObject>>();
  return (session, seq, prepared) => {
    const key = `${session} ${seq}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const reading = readSnapshot(store, session, seq, prepared, env);
    const [oldest] = kept.keys();
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, reading);
    reading.catch(() => kept.delete(key)); // another attempt may succeed
    return reading;
  };
}

async function readSnapshot(
  store: Store,
  session: string,
  seq: number,
  prepared: PreparedAgent,
  env: Readonly<Record<string, string | undefined>>,
): Promise<JsonObject> {
  const state = await readSession(store, session, seq);
  const said = await readLastSaid(store, session, seq);
  const { manifest = {}, ...view } = agentView({ state, prepared, env, said, parent: undefined });
  return Object.freeze({ ...frozenCopy(view), manifest }); // the manifest is frozen already
}
