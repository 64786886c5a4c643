import type { AgentInfo } from '../../../telltale/src/client/api.ts';
import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import { toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import type { Loadable } from './loadable.ts';
import { createStore, type Readable } from './readable.ts';

export interface AgentList extends Readable<Loadable<readonly AgentInfo[]>> {
  readonly refresh: () => Promise<void>;
  /** Asks the server to read all manifests again. */
  readonly reload: () => Promise<void>;
}

export function createAgentList(client: TelltaleClient): AgentList {
  const list = createStore<Loadable<readonly AgentInfo[]>>({ kind: 'loading' });
  const show = (items: readonly AgentInfo[]) => {
    const before = list.get();
    // Pages poll every two seconds. Render only if something changed.
    if (before.kind === 'ready' && before.stale === undefined && same(before.value, items)) return;
    list.set({ kind: 'ready', value: items });
  };
  return {
    ...list,
    async refresh() {
      try {
        show((await client.agents()).items);
      } catch (thrown) {
        const error = toRuntimeError(thrown).toJSON();
        const before = list.get();
        list.set(before.kind === 'ready' ? { ...before, stale: error } : { kind: 'failed', error });
      }
    },
    async reload() {
      show((await client.reloadAgents()).items);
    },
  };
}

const same = (a: readonly AgentInfo[], b: readonly AgentInfo[]) => JSON.stringify(a) === JSON.stringify(b);
