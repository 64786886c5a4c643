import { type Lookup, resolveReferences } from '../conditions/references/resolve-references.ts';
import type { DeclaredAction } from '../events/action.ts';
import type { Json } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Binding } from './bind.ts';
import { badParameters } from './failures.ts';
import { type Fault, unknownVariables } from './faults.ts';
import { find, type NameSpace, outputOf } from './names.ts';

/** What the names in `action` stand for, now that it starts. */
export const lookupOf =
  (names: NameSpace, action: DeclaredAction, binding: Binding): Lookup =>
  (name) => {
    const bound = binding.bound.get(name);
    if (bound !== undefined) return outputOf(names, bound);
    const standing = find(names, name, action);
    return standing?.state === 'value' ? standing.value : undefined;
  };

/** `value` with the variables of `action` resolved, and what to tell the model of those that name nothing. */
export function resolveInput<T extends Json>(
  names: NameSpace,
  action: DeclaredAction,
  binding: Binding,
  value: T,
): Result<{ readonly value: T; readonly fault?: Fault }, RuntimeError> {
  if (!hasDollar(value)) return ok({ value });
  const lookup = lookupOf(names, action, binding);
  const resolved = resolveReferences(value, lookup);
  if (!resolved.ok) return err(badParameters(resolved.error.message, resolved.error.hint));
  const { unknown } = resolved.value;
  const made = resolved.value.value as T;
  return ok(
    unknown.length === 0
      ? { value: made }
      : { value: made, fault: unknownVariables(action.id, unknown, lookup) },
  );
}

/** Deeper ones are left to whoever resolves references, and refused there. */
const MAX_SEARCH_DEPTH = 64;

/** Most parameters hold no dollar: then there is nothing to copy. */
function hasDollar(value: Json, depth = 0): boolean {
  if (typeof value === 'string') return value.includes('$');
  if (typeof value !== 'object' || value === null) return false;
  if (depth === MAX_SEARCH_DEPTH) return true;
  for (const key in value)
    if (hasDollar((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1)) return true;
  return false;
}
