import { isJsonObject, type JsonObject } from '../../../../telltale/src/kernel/json.ts';
import { toRuntimeError } from '../../../../telltale/src/kernel/runtime-error.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { type Loaded, useLoaded } from '../../data/use-loaded.ts';

/** Agents that are asked whether they have a graph. */
const MAX_AGENTS = 60;

export interface AgentMemory {
  readonly agent: string;
  readonly stats: JsonObject;
}

/** The agents that have a knowledge graph, with what each holds. */
export function useMemories(): Loaded<readonly AgentMemory[]> {
  const agents = useReadable(useData().agents);
  const names =
    agents.kind === 'ready' ? agents.value.filter(({ usable }) => usable).map(({ name }) => name) : undefined;
  const loaded = useLoaded(`memories ${JSON.stringify(names ?? null)}`, async (client, signal) => {
    const asked = (names ?? []).slice(0, MAX_AGENTS).map(async (agent): Promise<readonly AgentMemory[]> => {
      // Its manifest is asked first: a page is not to be full of refusals that mean nothing.
      const { manifest } = await client.agent(agent, { signal });
      if (!isJsonObject(manifest?.memory)) return [];
      try {
        return [{ agent, stats: await client.memoryStats(agent, { signal }) }];
      } catch (thrown) {
        if (toRuntimeError(thrown).code === 'no_memory') return [];
        throw thrown;
      }
    });
    return (await Promise.all(asked)).flat();
  });
  if (agents.kind === 'failed') return { kind: 'failed', error: agents.error, reload: loaded.reload };
  return names === undefined ? { kind: 'loading', reload: loaded.reload } : loaded;
}
