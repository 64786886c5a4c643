import { type Lookups, resolveReferences } from '../conditions/references/resolve-references.ts';
import type { DeclaredAction } from '../events/action.ts';
import type { Json } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Binding } from './bind.ts';
import { badParameters } from './failures.ts';
import { type Fault, unknownVariables } from './faults.ts';
import { find, localOf, type NameSpace, outputOf } from './names.ts';

/** What the names in `action` stand for, now that it starts. */
export function lookupsOf(names: NameSpace, action: DeclaredAction, binding: Binding): Lookups {
  const inserted = (name: string): Json | undefined => {
    const id = binding.inserted.get(name);
    return id === undefined ? localOf(action, name) : outputOf(names, id);
  };
  const whole = (name: string): Json | undefined => {
    const id = binding.bound.get(name);
    if (id !== undefined) return outputOf(names, id);
    const standing = find(names, name, action);
    return standing?.state === 'value' ? standing.value : undefined;
  };
  return { whole, inserted };
}

/** `value` with the references of `action` resolved, and what to tell the model of those that name nothing. */
export function resolveInput<T extends Json>(
  names: NameSpace,
  action: DeclaredAction,
  binding: Binding,
  value: T,
): Result<{ readonly value: T; readonly fault?: Fault }, RuntimeError> {
  if (action.literal === true || !mayRefer(value)) return ok({ value });
  const lookups = lookupsOf(names, action, binding);
  const resolved = resolveReferences(value, lookups);
  if (!resolved.ok) return err(badParameters(resolved.error.message, resolved.error.hint));
  const { unknown } = resolved.value;
  const made = resolved.value.value as T;
  return ok(
    unknown.length === 0
      ? { value: made }
      : { value: made, fault: unknownVariables(action, unknown, lookups) },
  );
}

/** Deeper ones are left to whoever resolves references, and refused there. */
const MAX_SEARCH_DEPTH = 64;

/** Most parameters hold nothing that looks like a reference: then there is nothing to copy. */
function mayRefer(value: Json, depth = 0): boolean {
  if (typeof value === 'string') return value.startsWith('$') || value.includes('{{');
  if (typeof value !== 'object' || value === null) return false;
  if (depth === MAX_SEARCH_DEPTH) return true;
  for (const key in value)
    if (mayRefer((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1)) return true;
  return false;
}
