import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent } from '../loaded-agent.ts';

/** Throws where a defined variable is to be kept in a relic that is no database. */
export function checkStores({ manifest, project }: LoadedAgent<unknown>): void {
  for (const { name, store } of manifest.context_variables.defined) {
    if (store === undefined) continue;
    const relic = project.manifests.find((each) => each.kind === 'Relic' && each.name === store)?.manifest;
    if (relic?.kind === 'Relic' && relic.driver !== 'sql')
      throw noDatabase(manifest.name, name, store, relic.driver);
  }
}

const noDatabase = (agent: string, variable: string, relic: string, driver: string) =>
  new RuntimeError(
    'bad_manifest',
    `The variable "${variable}" of the agent "${agent}" is kept in the relic "${relic}", whose driver is ${driver}.`,
    { hint: 'Name a relic of driver sql, or leave "store" out: then the runtime\'s own store keeps it.' },
  );
