import type { Reference } from '../expressions/references/reference.ts';
import {
  type Lookups,
  type ParameterReference,
  referencesInParameters,
  resolveReferences,
} from '../expressions/references/resolve-references.ts';
import { ownProperty, readPath } from '../expressions/values.ts';
import { err, ok, type Result, type RuntimeError } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import { type DeclaredAction, isForEach } from '../log/action.ts';
import type { DependencyNeeds } from './dependency-graph.ts';
import { badParameters, type FaultBody, unknownVariables } from './faults.ts';
import { loopOf } from './foreach.ts';
import type { Node } from './graph.ts';
import {
  baseOf,
  findAction,
  findActionLater,
  findOutside,
  findReferent,
  isOwnName,
  localOf,
  type NameSpace,
  outputOf,
  type Referent,
  referentOf,
  referentOfAction,
  siblingOf,
} from './names.ts';

/** What an action depends on, and which actions its references were bound to when it was declared. */
export interface Binding extends DependencyNeeds {
  /** For each `$name`, the action or `<foreach>` whose output it takes, even if the name is declared again later. */
  readonly bound: ReadonlyMap<string, string>;
  /** The same for each `{{name}}`. A name that is not in here stays text. */
  readonly inserted: ReadonlyMap<string, string>;
  /** Whole references whose name stood for nothing. */
  readonly unresolved: readonly Reference[];
}

const NO_REFERENCES: Pick<Binding, 'bound' | 'inserted' | 'unresolved'> = {
  bound: new Map(),
  inserted: new Map(),
  unresolved: [],
};

/** The binding of an action that refers to no other, or that has been started before. */
export const NO_NEEDS: Binding = {
  nodes: [],
  unseen: [],
  failedBy: undefined,
  itself: false,
  ...NO_REFERENCES,
};

/**
 * Finds what `action` has to wait for. Call it before the action is on the log, so that it does not find itself. With
 * `declared`, it is there already: then a `{{name}}` is text unless `action.references` has the name.
 */
export function createBinding(names: NameSpace, action: DeclaredAction, declared: boolean): Binding {
  const references = referencesOf(action, isForEach(action) ? action.parameters.in : action.parameters);
  if (action.depends_on === undefined && references.length === 0) return NO_NEEDS;
  const nodes: Node[] = [];
  const unseen: string[] = [];
  let failedBy: string | undefined;
  let itself = false;
  const need = (referent: Referent | undefined, id: string) => {
    if (referent?.state === 'open') nodes.push(referent.node);
    else if (referent?.state === 'failed') failedBy ??= referent.because;
    else if (referent === undefined) unseen.push(id);
  };
  for (const id of action.depends_on ?? []) {
    const sibling = isSibling(names, id, action);
    const referent = sibling ? referentOfAction(names.state, names.graph, id) : referentOf(names, id);
    const needed = sibling ? id : baseOf(id);
    if (needed === action.id) itself = true;
    else need(referent, needed);
  }
  if (references.length === 0) return { nodes, unseen, failedBy, itself, ...NO_REFERENCES };
  const bound = new Map<string, string>();
  const inserted = new Map<string, string>();
  const unresolved: Reference[] = [];
  for (const reference of references) {
    const { name, path, whole } = reference;
    if (localOf(action, name) !== undefined) continue;
    const sibling = siblingOf(names, name, action, whole);
    const known = sibling ?? boundBefore(action, name);
    if (known !== undefined) {
      // An action of the same iteration may be declared later, and its name stands for no other action.
      need(
        sibling === undefined ? referentOf(names, known) : referentOfAction(names.state, names.graph, known),
        known,
      );
      (whole ? bound : inserted).set(name, known);
      continue;
    }
    if (declared && !whole) continue;
    const referent =
      findBefore(names, action, name, declared) ?? (whole ? findOutside(names, name, action) : undefined);
    const id = referent === undefined ? undefined : idOf(referent);
    if (referent !== undefined) need(referent, id ?? name);
    if (id !== undefined) (whole ? bound : inserted).set(name, id);
    else if (whole && !isOwnName(action, name) && !hasPart(referent, path)) unresolved.push(reference);
  }
  return { nodes, unseen, failedBy, itself, bound, inserted, unresolved };
}

/** Whether the value has such a part, or may have it once the value is there. */
const hasPart = (referent: Referent | undefined, path: Reference['path']): boolean =>
  referent !== undefined && (referent.state !== 'value' || readPath(referent.value, path) !== undefined);

const referencesOf = (
  { literal }: DeclaredAction,
  parameters: Json | undefined,
): readonly ParameterReference[] =>
  literal === true || parameters === undefined ? [] : referencesInParameters(parameters);

/** What a name was bound to when the action, or the `<foreach>` that created it, was declared. */
const boundBefore = ({ references }: DeclaredAction, name: string): string | undefined =>
  references === undefined ? undefined : (ownProperty(references, name) as string | undefined);

/** What a name stood for before the action. An action of a `<foreach>` must not find itself under its own name. */
function findBefore(
  names: NameSpace,
  action: DeclaredAction,
  name: string,
  declared: boolean,
): Referent | undefined {
  if (action.base !== undefined && isOwnName(action, name)) return undefined;
  return declared ? findActionLater(names, name) : findAction(names, name);
}

/** The action or `<foreach>` that a name stands for. Undefined for values from outside the scheduler. */
function idOf(referent: Referent): string | undefined {
  if (referent.state !== 'open')
    return referent.state === 'failed' && referent.error ? undefined : referent.id;
  const { node } = referent;
  return node.kind === 'join' && node.source === 'outside' ? undefined : node.id;
}

/**
 * `action` as it goes on the log, with its references: those in its parameters, in `compensate`, and in the actions of a
 * `<foreach>`. Like `createBinding`, call it before the action is on the log.
 */
export function withReferences(
  names: NameSpace,
  action: DeclaredAction,
  { bound, inserted }: Binding,
  declared: boolean,
): DeclaredAction {
  const all = new Map(inserted);
  // A name that is the id itself needs no entry.
  for (const [name, id] of bound) if (name !== id) all.set(name, id);
  for (const { name, whole } of laterReferences(action)) {
    if (all.has(name)) continue;
    const referent = declared && !whole ? undefined : findBefore(names, action, name, declared);
    const id = boundBefore(action, name) ?? (referent && idOf(referent));
    if (id !== undefined) all.set(name, id);
  }
  if (all.size === 0 && action.references === undefined) return action;
  const { references: _, ...rest } = action;
  return all.size === 0 ? rest : { ...rest, references: Object.fromEntries(all) };
}

/** References that are resolved later: in the action that undoes this one, or in the actions of a `<foreach>`. */
function laterReferences(action: DeclaredAction): readonly ParameterReference[] {
  if (isForEach(action))
    return loopOf(action).actions.flatMap((made) => [
      ...referencesOf(made, made.parameters),
      ...laterReferences(made),
    ]);
  const { compensate } = action;
  if (compensate === undefined || compensate.literal === true || !isJsonObject(compensate.parameters))
    return [];
  return referencesInParameters(compensate.parameters);
}

/** Whether the id belongs to the same iteration of the same `<foreach>`. */
const isSibling = ({ loops }: NameSpace, id: string, { base, index }: DeclaredAction): boolean =>
  base !== undefined && id.endsWith(`[${index}]`) && loops.get(baseOf(id)) === loops.get(base);

/** What an action must wait for because of references that named nothing when it was declared. */
export function needsOfUnresolved(
  names: NameSpace,
  action: DeclaredAction,
  unresolved: readonly Reference[],
): { readonly nodes: readonly Node[]; readonly failedBy: string | undefined } {
  const nodes: Node[] = [];
  let failedBy: string | undefined;
  for (const { name } of unresolved) {
    const referent = findReferent(names, name, action);
    if (referent?.state === 'open') nodes.push(referent.node);
    else if (referent?.state === 'failed') failedBy ??= referent.because;
  }
  return { nodes, failedBy };
}

/** Looks up the names in `action` when it starts. */
export function lookupsOf(names: NameSpace, action: DeclaredAction, binding: Binding): Lookups {
  const inserted = (name: string): Json | undefined => {
    const id = binding.inserted.get(name);
    return id === undefined ? localOf(action, name) : outputOf(names, id);
  };
  const whole = (name: string): Json | undefined => {
    const id = binding.bound.get(name);
    if (id !== undefined) return outputOf(names, id);
    const referent = findReferent(names, name, action);
    return referent?.state === 'value' ? referent.value : undefined;
  };
  return { whole, inserted };
}

/** Resolves the references in `value`. The fault tells the model which of them name nothing. */
export function resolveInput<T extends Json>(
  names: NameSpace,
  action: DeclaredAction,
  binding: Binding,
  value: T,
): Result<{ readonly value: T; readonly fault?: FaultBody }, RuntimeError> {
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

/** Deeper values are treated as if they held a reference. Resolving them then reports that they are too deep. */
const MAX_SEARCH_DEPTH = 64;

/** Whether the value holds text that looks like a reference. Most parameters hold none and need not be copied. */
function mayRefer(value: Json, depth = 0): boolean {
  if (typeof value === 'string') return value.startsWith('$') || value.includes('{{');
  if (typeof value !== 'object' || value === null) return false;
  if (depth === MAX_SEARCH_DEPTH) return true;
  for (const key in value)
    if (mayRefer((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1)) return true;
  return false;
}
