import type { Engine } from '../../engine/engine.ts';
import type { UnderWay } from '../../engine/in-flight.ts';
import type { Slots } from '../../engine/slots.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IdSource } from '../../lib/ids.ts';
import type { RunState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Model } from '../../models/model.ts';
import type { Store } from '../../store/store.ts';
import type { Approve } from '../../tools/target.ts';
import type { AgentShelf } from '../agent-cache.ts';
import type { Spawn } from '../children/child-session.ts';
import { loadAgent } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { Watcher } from '../runtime-types.ts';
import type { AgentSnapshots } from './agent-snapshot.ts';
import { runChanged, runInCode, workflowGone } from './run-errors.ts';
import type { AskRun } from './run-questions.ts';

/** What runs have of the runtime. */
export interface RunsDeps extends GroundDeps {
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly random: () => number;
  readonly shelf: AgentShelf;
  readonly lateModel: RealmDeps['lateModel'];
  readonly spawn: Spawn;
  readonly snapshots: AgentSnapshots;
  readonly ids: IdSource;
  /** Whose variables of `key: user` a run has that belongs to no session. */
  readonly user: string;
  readonly slots: Slots;
  readonly underWay: UnderWay;
  readonly approve?: Approve | undefined;
  readonly ask?: AskRun | undefined;
  readonly watchers: ReadonlySet<Watcher>;
  readonly crashPoint?: ((name: string) => void) | undefined;
  /** What no run can be told of: a mistake of ours, or a store that fails. */
  readonly onError: (error: unknown) => void;
}

/** In whose name a run works: found in this process, or read again from where its manifest was read. */
export interface Ground {
  readonly agent: LoadedAgent<unknown>;
  /** The model of its prompts, where it is another than the agent's own. */
  readonly model?: string | Model | undefined;
  /** Whether a session of the agent runs here: then its model is open already. */
  readonly ofSession?: true;
}

export interface RealmDeps {
  readonly shelf: AgentShelf;
  /** The agent's own model, opened when somebody asks it: a workflow may do without, and without its key. */
  readonly lateModel: (agent: LoadedAgent<unknown>) => Model;
}

export interface Realm extends Ground {
  readonly prepared: PreparedAgent;
  readonly workflow: WorkflowManifest;
}

export interface GroundDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Agents that this process has loaded, where it works for others. */
  readonly agents?: (() => readonly LoadedAgent<unknown>[]) | undefined;
}

/** Reads it again. Refused where it is not what the run is pinned to, unless that is `any` definition of today. */
export async function readGround(
  state: RunState,
  { env, cwd, agents }: GroundDeps,
  which: 'pinned' | 'any' = 'pinned',
): Promise<Ground> {
  const { id, manifest, model } = state;
  if (manifest.code === true) throw runInCode(id, manifest.path);
  // On another machine the same manifest may lie elsewhere.
  const known = agents?.().find(
    (each) => each.hash === manifest.hash && each.manifest.name === manifest.agent,
  );
  if (known !== undefined) return { agent: known, model };
  const agent = await loadAgent(manifest.path, { env, cwd, name: manifest.agent });
  if (agent.hash !== manifest.hash && which === 'pinned') throw runChanged(state);
  return { agent, model };
}

/** To be given back to the shelf when the work is done. */
export async function enterRealm(deps: RealmDeps, ground: Ground, workflow: string): Promise<Realm> {
  const { agent } = ground;
  const model = ground.model ?? (ground.ofSession === true ? undefined : deps.lateModel(agent));
  const prepared = await deps.shelf.prepare(agent, model);
  const manifest = prepared.workflows.get(workflow);
  if (manifest !== undefined) return { ...ground, workflow: manifest, prepared };
  deps.shelf.release(prepared);
  throw workflowGone(workflow, agent);
}
