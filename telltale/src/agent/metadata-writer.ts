import { deepEqual } from '../expressions/values.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Cause } from '../log/event.ts';
import { SEED_WRITER } from '../log/fold-values.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Store, TableWrite } from '../store/store.ts';
import type { CompiledTriggers } from '../triggers/compile-triggers.ts';
import { hearsUpdate } from '../triggers/hears-update.ts';
import type { Metadata, MetadataChanges } from './metadata/metadata.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';

/** What a turn has to know of others. */
export function beforeTurn(deps: SessionDeps): Promise<void> | undefined {
  const { variableStore } = deps.variables;
  const known = beforeAnyTurn(deps);
  if (variableStore === undefined) return known;
  return known === undefined ? variableStore.refresh() : known.then(variableStore.refresh);
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

/** What is needed to change a session's metadata. */
interface MetadataDeps {
  readonly prepared: {
    readonly agent: { readonly manifest: AgentManifest };
    readonly metadata: Metadata;
    readonly triggers: CompiledTriggers | undefined;
  };
  readonly log: SessionLog;
}

export type ApplyMetadata = (update: JsonObject, by: string, cause?: Cause, run?: string) => void;

/** One row a field, so that sessions side by side that set different ones do not undo each other's. */
const keptTable = (agent: string) => `agent.metadata:${agent}`;

/**
 * Checks an update and puts what counts, and what does not, on the log. With `scope: agent` the values also go to a table,
 * in the transaction of the event. An update that says what is already so is `metadata.changed` without changes where it
 * makes a difference: to triggers, or since another session may have set something else meanwhile.
 */
export function applyMetadata(
  { prepared, log }: MetadataDeps,
  update: JsonObject,
  by: string,
  cause?: Cause,
  run?: string,
): void {
  const { manifest } = prepared.agent;
  const { changes, same, errors } = prepared.metadata.apply(log.state.metadata, update);
  const isKept = manifest.metadata.scope === 'agent';
  const isNews = same.length > 0 && (isKept || isHeard(prepared, log.state.metadataUpdates));
  if (isNews || Object.keys(changes).length > 0) {
    const said = isKept ? same.map((name) => [name, log.state.metadata[name] ?? null] as const) : [];
    const beside = isKept ? { writes: writesOf(manifest.name, changes, said) } : undefined;
    const of = run === undefined ? undefined : { run };
    log.append({ type: 'metadata.changed', changes, by, ...of }, cause, beside);
  }
  if (errors.length > 0) log.append({ type: 'metadata.rejected', errors, by }, cause);
}

/** Whether an update counts that changes nothing: for a trigger, or for a derived variable, which looks at the first. */
const isHeard = ({ agent, triggers }: MetadataDeps['prepared'], updates: number): boolean =>
  hearsUpdate(triggers?.metadata, updates) ||
  (updates === 0 &&
    agent.manifest.context_variables.derived.some(({ triggers: own }) =>
      own?.some(({ type }) => type === 'metadata_match'),
    ));

const writesOf = (
  agent: string,
  changes: MetadataChanges,
  said: readonly (readonly [name: string, value: Json])[],
): readonly TableWrite[] =>
  [...Object.entries(changes).map(([name, { to }]) => [name, to] as const), ...said].map(([key, value]) => ({
    table: keptTable(agent),
    key,
    value: value === null ? undefined : value,
  }));

/** What was kept of the agent's metadata, where it is kept between runs. */
export async function keptMetadata(
  { scope, fields }: AgentManifest['metadata'],
  agent: string,
  store: Store,
): Promise<JsonObject | undefined> {
  if (scope !== 'agent') return undefined;
  const names = Object.keys(fields);
  const values = await Promise.all(names.map((name) => store.tables.get(keptTable(agent), name)));
  const kept = new Map<string, Json>();
  for (const [index, name] of names.entries()) {
    const value = values[index];
    if (value !== undefined) kept.set(name, value);
  }
  return Object.fromEntries(kept);
}

/**
 * Takes over what other sessions of the agent have set since; what does not fit its field is left as it was, and so are
 * fields that it shares with an agent that called it.
 */
async function refreshMetadata(
  metadata: Metadata,
  manifest: AgentManifest,
  log: SessionLog,
  store: Store,
  shared: ReadonlySet<string> | undefined,
): Promise<void> {
  await log.flushed(); // or its own last values would be undone by those before them
  const before = new Map(Object.entries(log.state.metadata));
  const kept = await keptMetadata(manifest.metadata, manifest.name, store);
  const { values, dropped } = metadata.initial(kept);
  const current = log.state.metadata;
  const changes = new Map<string, { readonly from: Json; readonly to: Json }>();
  for (const name of Object.keys(manifest.metadata.fields)) {
    if (shared?.has(name) === true || dropped.some(({ field }) => field === name)) continue;
    const from = Object.hasOwn(current, name) ? (current[name] ?? null) : null;
    // Set here meanwhile, by a sub-agent or a workflow: what was read is older.
    if (!deepEqual(from, before.get(name) ?? null)) continue;
    const to = Object.hasOwn(values, name) ? (values[name] ?? null) : null;
    if (!deepEqual(from, to)) changes.set(name, { from, to });
  }
  if (changes.size > 0)
    log.append({ type: 'metadata.changed', changes: Object.fromEntries(changes), by: SEED_WRITER });
}
