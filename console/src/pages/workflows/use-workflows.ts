import type { WorkflowInfo } from '../../../../telltale/src/client/api.ts';
import type { Loadable } from '../../data/loadable.ts';
import { useLoaded } from '../../data/use-loaded.ts';
import { useSame } from '../../data/use-same.ts';
import { useFreshAgents } from '../agents/use-fresh-agents.ts';

const NONE: readonly WorkflowInfo[] = [];

/** All workflows of all agents. If the server reloads manifests, they are the current ones. */
export function useWorkflows(): Loadable<readonly WorkflowInfo[]> & { readonly reload: () => void } {
  const loaded = useLoaded('workflows', (client, signal) => client.workflows({ signal }));
  useFreshAgents(loaded.reload);
  const items = useSame(loaded.kind === 'ready' ? loaded.value.items : NONE);
  return loaded.kind === 'ready' ? { ...loaded, value: items } : loaded;
}
