import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { AgentCatalog } from '../catalog/agent-catalog.ts';
import { agentUnnamed, noAgents } from './protocol-errors.ts';

/** The agent of that name; without one, the only one there is. `where` says how to name it. */
export function chooseAgent(
  catalog: Pick<AgentCatalog, 'list' | 'find'>,
  name: string | undefined,
  where: string,
): LoadedAgent<unknown> {
  if (name !== undefined) return catalog.find(name);
  const names = catalog.list().map((entry) => entry.name);
  const [only] = names;
  if (only === undefined) throw noAgents();
  if (names.length > 1) throw agentUnnamed(names, where);
  return catalog.find(only);
}
