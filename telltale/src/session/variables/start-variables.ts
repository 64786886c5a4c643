import type { VariableClass } from '../../events/value-event.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { classOf, type VariableWriter, valueProblem } from './declared-variables.ts';
import { settableBy } from './variable-writer.ts';

/** What variables begin with: derived ones without a default with null, so that conditions can read them. */
export function variableDefaults({ context_variables: variables }: AgentManifest): Record<string, Json> {
  const defaults = new Map<string, Json>();
  for (const { name, default: value } of [...variables.defined, ...variables.runtime])
    if (value !== undefined) defaults.set(name, value as Json);
  for (const { name, default: value = null } of variables.derived) defaults.set(name, value as Json);
  return Object.fromEntries(defaults);
}

/** What `session.started` says of their classes; nothing where all are runtime ones. */
export function classesOf({ context_variables: { defined, derived } }: AgentManifest): {
  readonly classes?: Readonly<Record<string, VariableClass>>;
} {
  if (defined.length === 0 && derived.length === 0) return {};
  const of = (list: readonly { readonly name: string }[], kind: VariableClass) =>
    list.map(({ name }) => [name, kind] as const);
  return { classes: Object.fromEntries([...of(defined, 'defined'), ...of(derived, 'derived')]) };
}

/**
 * Throws where a variable that is given at the start may not be given, or is of another type. One that the manifest does
 * not declare is the caller's own: `$name` reads it, and nobody changes it.
 */
export function checkGiven(
  manifest: Pick<AgentManifest, 'context_variables'>,
  given: JsonObject,
  by: VariableWriter,
): void {
  for (const [name, value] of Object.entries(given)) {
    if (classOf(manifest, name) === undefined) continue;
    const wrong = valueProblem(settableBy(manifest, name, by), value);
    if (wrong !== undefined) throw wrong;
  }
}
