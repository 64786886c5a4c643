import type { Model } from '../models/model.ts';
import { type ModelObject, modelOf } from '../models/model-object.ts';
import { createSandboxFinder } from '../tools/process/find-sandbox.ts';
import { createAgentFamily } from './children/agent-target.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { PrepareDeps, PreparedAgent, prepareAgent } from './prepare-agent.ts';

/**
 * Agents that no session uses and that are kept ready for the next one. A server that loads or defines its agent for
 * each request would otherwise keep them all, with their connections and the processes of their MCP servers.
 */
const MAX_IDLE = 32;

export interface AgentShelf {
  /** Prepares an agent, or gives what was prepared for it before, as its MCP servers are now. `model` counts in place of the manifest's own. */
  prepare(agent: LoadedAgent<unknown>, model: string | ModelObject | undefined): Promise<PreparedAgent>;
  /** The same for whoever only looks at an agent: it writes nothing into the store, and its model is never asked. */
  look(agent: LoadedAgent<unknown>): Promise<PreparedAgent>;
  /** To be called once for each `prepare` that succeeded, when its session is over. */
  release(prepared: PreparedAgent): void;
  /** The agents that it may call or hand a conversation to. */
  callableBy(agent: LoadedAgent<unknown>): readonly LoadedAgent<unknown>[];
  close(): Promise<void>;
}

interface Kept {
  readonly agent: LoadedAgent<unknown>;
  readonly model: string | Model | undefined;
  made: Promise<PreparedAgent>;
  users: number;
}

/** Stands for the model of an agent that is only looked at. */
const UNASKED: Model = {
  id: 'none',
  stream: () => Promise.reject(new Error('An agent that is only looked at asks no model.')),
};

export function createAgentShelf(
  given: PrepareDeps,
  parts: () => Promise<{ readonly prepareAgent: typeof prepareAgent }>,
): AgentShelf {
  const deps = {
    ...given,
    findSandbox: given.findSandbox ?? createSandboxFinder(given.env),
    family: createAgentFamily(),
  };
  const shelf = new Map<LoadedAgent<unknown>, Map<string | Model | undefined, Kept>>();
  const owners = new WeakMap<PreparedAgent, Kept>();
  /** Longest idle first. */
  const idle = new Set<Kept>();
  const closing = new Set<Promise<void>>();

  const forget = ({ agent, model }: Kept) => {
    const variants = shelf.get(agent);
    variants?.delete(model);
    if (variants?.size === 0) shelf.delete(agent);
  };
  const make = (agent: LoadedAgent<unknown>, model: string | Model | undefined): Kept => {
    const made = parts().then(({ prepareAgent: prepare }) => prepare(deps, agent, model, model === UNASKED));
    const kept: Kept = { agent, model, made, users: 0 };
    let variants = shelf.get(agent);
    if (variants === undefined) {
      variants = new Map();
      shelf.set(agent, variants);
    }
    variants.set(model, kept);
    kept.made.then(
      (prepared) => owners.set(prepared, kept),
      () => forget(kept), // what failed once may succeed later: a key is set, a file is there
    );
    return kept;
  };
  const leave = (kept: Kept) => {
    if (--kept.users > 0) return;
    idle.add(kept);
    const [longest] = idle;
    if (idle.size > MAX_IDLE && longest !== undefined) discard(longest);
  };
  /** All that is ever made of one agent has the same servers: what is closed is the one or the other. */
  const upToDate = (kept: Kept, prepared: PreparedAgent): PreparedAgent => {
    try {
      const latest = prepared.latest();
      if (latest === prepared) return prepared;
      owners.set(latest, kept);
      kept.made = Promise.resolve(latest);
      return latest;
    } catch (thrown) {
      leave(kept);
      throw thrown;
    }
  };
  const discard = (kept: Kept) => {
    idle.delete(kept);
    forget(kept);
    const closed = kept.made.then(({ targets }) => targets.close());
    closing.add(closed);
    // One that could not be closed stays: close() hears of it.
    closed.then(
      () => closing.delete(closed),
      () => undefined,
    );
  };

  const take = (agent: LoadedAgent<unknown>, model: string | Model | undefined) => {
    const kept = shelf.get(agent)?.get(model) ?? make(agent, model);
    kept.users++;
    idle.delete(kept);
    return kept.made.then((prepared) => upToDate(kept, prepared));
  };

  return {
    prepare: (agent, given) => take(agent, typeof given === 'object' ? modelOf(given) : given),
    look: (agent) => take(agent, UNASKED),
    callableBy: deps.family.callableBy,
    release(prepared) {
      const kept = owners.get(prepared);
      if (kept !== undefined) leave(kept);
    },
    async close() {
      const all = [...shelf.values()].flatMap((variants) => [...variants.values()]);
      shelf.clear();
      idle.clear();
      for (const { made } of all) {
        const prepared = await made.catch(() => undefined); // whoever asked for it has heard
        await prepared?.targets.close();
      }
      await Promise.all(closing);
    },
  };
}
