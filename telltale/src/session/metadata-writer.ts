import type { Cause } from '../events/event.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Store } from '../store/store.ts';
import type { Metadata } from './metadata/metadata.ts';
import type { SessionLog } from './session-log.ts';

/** Checks an update and puts what counts, and what does not, on the log. */
export type ApplyMetadata = (update: JsonObject, by: string, cause?: Cause) => void;

const KEPT_TABLE = 'agent.metadata';

/** With `scope: agent` the values also go to a table, in the transaction of the event. */
export function createMetadataWriter(
  metadata: Metadata,
  manifest: AgentManifest['metadata'],
  agent: string,
  log: SessionLog,
): ApplyMetadata {
  return (update, by, cause) => {
    const { changes, errors } = metadata.apply(log.state.metadata, update);
    if (Object.keys(changes).length > 0) {
      const kept = manifest.scope === 'agent' ? after(log.state.metadata, changes) : undefined;
      const beside =
        kept === undefined ? undefined : { writes: [{ table: KEPT_TABLE, key: agent, value: kept }] };
      log.append({ type: 'metadata.changed', changes, by }, cause, beside);
    }
    if (errors.length > 0) log.append({ type: 'metadata.rejected', errors, by }, cause);
  };
}

function after(
  values: Readonly<Record<string, Json>>,
  changes: Readonly<Record<string, { readonly to: Json }>>,
): JsonObject {
  const next: Record<string, Json> = { ...values };
  for (const [field, { to }] of Object.entries(changes)) {
    if (to === null) delete next[field];
    else next[field] = to;
  }
  return next;
}

/** What the last run of the agent left, where its metadata is kept between runs. */
export async function keptMetadata(
  manifest: AgentManifest['metadata'],
  agent: string,
  store: Store,
): Promise<JsonObject | undefined> {
  if (manifest.scope !== 'agent') return undefined;
  const kept = await store.tables.get(KEPT_TABLE, agent);
  return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? (kept as JsonObject) : undefined;
}
