import { refreshMetadata } from './metadata-writer.ts';
import type { SessionDeps } from './session-edges.ts';

/** What a turn has to know of others. */
export function beforeTurn(deps: SessionDeps): Promise<void> | undefined {
  const { keeper } = deps.variables;
  const known = beforeAnyTurn(deps);
  if (keeper === undefined) return known;
  return known === undefined ? keeper.refresh() : known.then(keeper.refresh);
}

function beforeAnyTurn({ prepared, log, runtime, lineage }: SessionDeps): Promise<void> | undefined {
  const { metadata, agent } = prepared;
  const kept = agent.manifest.metadata.scope === 'agent';
  const bounded = lineage?.limits.isBounded === true;
  if (!kept && !bounded) return undefined;
  const refreshed = kept
    ? refreshMetadata(metadata, agent.manifest, log, runtime.store, lineage?.sharedFields)
    : Promise.resolve();
  // What it used counts above once it is on the log.
  return bounded ? refreshed.then(() => log.flushed()).then(lineage.limits.counted) : refreshed;
}
