import { added, put } from '../kernel/grow.ts';
import type { Json } from '../kernel/json.ts';
import type { EventOf } from './event.ts';
import { ownFields, type SessionState } from './state.ts';

/** Who changes metadata for a sub-agent: `child:NAME`. */
export const CHILD_WRITER = 'child:';

/** Who changes metadata and variables for a workflow run: `workflow:NAME`. */
export const WORKFLOW_WRITER = 'workflow:';

/** Who sets what the session did not: values kept from before, or set by others meanwhile. No update of its own. */
export const SEED_WRITER = 'seed';

const isOfChild = (by: string): boolean => by.startsWith(CHILD_WRITER);

const isOfWorkflow = (by: string): boolean => by.startsWith(WORKFLOW_WRITER);

export function changeMetadata(state: SessionState, event: EventOf<'metadata.changed'>): void {
  state.signs.unset = false;
  const isSeed = event.by === SEED_WRITER;
  if (!isSeed) state.metadataUpdates++;
  const fields = Object.entries(event.changes) as [string, { to: Json }][];
  // What was said already is an update, but no sign that anything goes on.
  if (fields.length > 0 && !isSeed && !isOfChild(event.by) && event.run === undefined) {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  for (const [field, { to }] of fields) {
    // A field that is not set and has no default is absent; on the log that is null.
    if (to === null) delete ownFields(state)[field];
    else ownFields(state)[field] = to;
    if (!state.news.changed.includes(field)) state.news.changed = added(state.news.changed, field);
  }
}

export function rejectMetadata(state: SessionState, event: EventOf<'metadata.rejected'>): void {
  if (isOfChild(event.by) || isOfWorkflow(event.by)) return; // no mistake of this model's
  state.signs.unset = false;
  state.signs.tags = true;
  for (const error of event.errors) state.news.rejected = added(state.news.rejected, error);
}

export function changeVariable(state: SessionState, event: EventOf<'variable.changed'>): void {
  state.signs.unset = false;
  if (event.by !== SEED_WRITER) state.variableUpdates++;
  const { name, to: value, class: kind, by } = event;
  const isNew = !state.variables.has(name) || !isSame(event.from, value);
  state.variables = put(state.variables, name, { value, class: kind, by });
  if (!isNew) return; // as with metadata
  if (by === 'model') {
    state.signs.tags = true;
    state.signs.deeds = true;
    if (state.task !== undefined) state.task.fresh = true;
  }
  if (state.news.variables === undefined) state.news.variables = [name];
  else if (!state.news.variables.includes(name)) state.news.variables.push(name);
}

const isSame = (from: Json, to: Json): boolean =>
  from === to || (typeof from === 'object' && JSON.stringify(from) === JSON.stringify(to));
