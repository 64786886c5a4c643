import { isPlainObject } from '../../expressions/values.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { EventOf } from '../../log/event.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/** Fields that a sub-agent has in common with the agent that called it, where it says `metadata.inherit: share`. */
export function sharedFields(parent: AgentManifest, child: AgentManifest): ReadonlySet<string> {
  if (child.metadata.inherit !== 'share') return NONE;
  return new Set(
    Object.keys(child.metadata.fields).filter((name) => Object.hasOwn(parent.metadata.fields, name)),
  );
}

const NONE: ReadonlySet<string> = new Set();

/** The values of these, as far as they are set. */
export function valuesOf(metadata: Readonly<Record<string, Json>>, fields: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => fields.has(name)));
}

/**
 * What the parent's metadata is updated with when a sub-agent has changed its own. Of a field that the parent merges,
 * only what changed: several sub-agents may work on parts of it side by side.
 */
export function updateFor(
  parent: AgentManifest,
  { changes }: Pick<EventOf<'metadata.changed'>, 'changes'>,
  fields: ReadonlySet<string>,
): JsonObject | undefined {
  const update = new Map<string, Json>();
  for (const [name, { from, to }] of Object.entries(changes)) {
    if (!fields.has(name)) continue;
    const field = parent.metadata.fields[name];
    const merges = field?.type === 'object' && field.merge === 'deep';
    update.set(
      name,
      merges && isPlainObject(from) && isPlainObject(to)
        ? difference(from as JsonObject, to as JsonObject)
        : to,
    );
  }
  return update.size === 0 ? undefined : Object.fromEntries(update);
}

/** The patch (RFC 7396) that makes `to` of `from`. As deep as metadata may be. */
function difference(from: JsonObject, to: JsonObject): JsonObject {
  const patch = new Map<string, Json>();
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) patch.set(key, null);
  for (const [key, value] of Object.entries(to)) {
    const old = Object.hasOwn(from, key) ? from[key] : undefined;
    if (isPlainObject(old) && isPlainObject(value)) {
      const inner = difference(old as JsonObject, value as JsonObject);
      if (Object.keys(inner).length > 0) patch.set(key, inner);
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch.set(key, value);
  }
  return Object.fromEntries(patch);
}
