import { type ErrorJson, RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import { hookUnknown } from '../../session/outside/hook-errors.ts';
import type { DueTime, Listening, OutsideOutcome } from '../../session/runs/run-types.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import type { Listeners, ListenProblem } from './listeners.ts';

export interface ListenersOptions {
  readonly runtime: { readonly workflows: Pick<Runtime['workflows'], 'listen'> };
  readonly catalog: Pick<AgentCatalog, 'list' | 'onChange'>;
  /** Told of each time that a schedule was due. */
  readonly onDue?: (agent: string, trigger: string, outcome: OutsideOutcome, due: DueTime) => void;
  readonly onError: (thrown: unknown) => void;
}

interface Open {
  readonly hash: string;
  readonly path: string;
  readonly listening: Listening;
}

/**
 * Listens for every agent of a catalog. When the catalog changes, agents that are as they were are left alone, those
 * that changed are listened for as they are now, and those that are gone no longer. One that cannot be listened for
 * keeps what it had.
 */
export function createListeners({ runtime, catalog, onDue, onError }: ListenersOptions): Listeners {
  const open = new Map<string, Open>();
  let broken = new Map<string, ErrorJson>();
  let ambiguous: readonly ListenProblem[] = [];

  const listenFor = (name: string, agent: LoadedAgent<unknown>): Listening =>
    runtime.workflows.listen(agent, {
      onDue: (trigger, outcome, due) => onDue?.(name, trigger, outcome, due),
      onError,
    });

  const follow = () => {
    const named = new Map(
      catalog.list().flatMap(({ name, agent }) => (agent === undefined ? [] : [[name, agent]])),
    );
    const wasBroken = broken;
    broken = new Map();
    for (const [name, { listening }] of open)
      if (!named.has(name)) {
        listening.close();
        open.delete(name);
      }
    for (const [name, agent] of named) {
      const before = open.get(name);
      if (before?.hash === agent.hash && before.path === agent.path) continue;
      try {
        // The new one first: there is no moment at which nobody listens.
        const listening = listenFor(name, agent);
        before?.listening.close();
        open.set(name, { hash: agent.hash, path: agent.path, listening });
      } catch (thrown) {
        const error = toRuntimeError(thrown);
        broken.set(name, error.toJSON());
        if (wasBroken.get(name)?.message !== error.message) onError(thrown);
      }
    }
    tellAmbiguous();
  };

  const agentsOf = (hook: string): readonly string[] =>
    [...open].flatMap(([name, { listening }]) => (listening.hooks.includes(hook) ? [name] : []));

  const tellAmbiguous = () => {
    const known = new Set(ambiguous.map(({ error }) => error.message));
    const hooks = new Set([...open.values()].flatMap(({ listening }) => listening.hooks));
    const found = [...hooks].flatMap((hook) => {
      const agents = agentsOf(hook);
      return agents.length > 1 ? [{ agents, error: hookAmbiguous(hook, agents) }] : [];
    });
    ambiguous = found.map(({ agents, error }) => ({ agents, error: error.toJSON() }));
    for (const { error } of found) if (!known.has(error.message)) onError(error);
  };

  follow();
  const endFollowing = catalog.onChange(follow);
  return {
    async deliver(hook, body, headers) {
      const agents = agentsOf(hook);
      const [agent] = agents;
      const found = agent === undefined ? undefined : open.get(agent);
      if (found === undefined)
        throw hookUnknown(
          hook,
          [...open.values()].flatMap(({ listening }) => listening.hooks),
        );
      if (agents.length > 1) throw hookAmbiguous(hook, agents);
      return found.listening.deliver(hook, body, headers);
    },
    hooks: () =>
      [...open].flatMap(([agent, { listening }]) => listening.hooks.map((hook) => ({ hook, agent }))),
    problems: () => [...[...broken].map(([agent, error]) => ({ agents: [agent], error })), ...ambiguous],
    close() {
      endFollowing();
      for (const { listening } of open.values()) listening.close();
      open.clear();
    },
  };
}

/** Nothing is lost by it: senders try again what was answered so. */
const hookAmbiguous = (hook: string, agents: readonly string[]) =>
  new RuntimeError(
    'hook_ambiguous',
    `The agents ${agents.join(' and ')} both listen to the hook "${hook}": none of them is started by it.`,
    {
      hint: 'Give one of their triggers another "hook", or have only one of them import the workflow.',
      retryable: true,
    },
  );
