import type { Reference } from '../expressions/references/reference.ts';
import {
  type ParameterReference,
  referencesInParameters,
} from '../expressions/references/resolve-references.ts';
import { ownProperty, readPath } from '../expressions/values.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { DependencyGraphNeeds } from './dependency-graph.ts';
import type { Node } from './graph.ts';
import { isLoop, loopOf } from './loops.ts';
import {
  baseOf,
  find,
  findAction,
  findActionLater,
  findOutside,
  isOwnName,
  localOf,
  type NameSpace,
  type Standing,
  siblingOf,
  standingOf,
  standingOfAction,
} from './names.ts';

/** What an action needs, and which actions its references were bound to when it was declared. */
export interface Binding extends DependencyGraphNeeds {
  /** By name, for `$name`: the action or `<foreach>` whose output it takes, whatever is declared under that name later. */
  readonly bound: ReadonlyMap<string, string>;
  /** The same for `{{name}}`, which is text where the name is not in here. */
  readonly inserted: ReadonlyMap<string, string>;
  /** Whole references that named nothing. */
  readonly late: readonly Reference[];
}

const NO_REFERENCES: Pick<Binding, 'bound' | 'inserted' | 'late'> = {
  bound: new Map(),
  inserted: new Map(),
  late: [],
};

/** Of an action that names no other, or has been started before. */
export const NO_NEEDS: Binding = {
  nodes: [],
  unseen: [],
  failedBy: undefined,
  itself: false,
  ...NO_REFERENCES,
};

/**
 * What `action` has to wait for. Asked before it is on the log, so that it does not find itself; `declared` says that it
 * is there already, or that what made it is: then `{{name}}` is text unless `action.references` has the name.
 */
export function bind(names: NameSpace, action: DeclaredAction, declared: boolean): Binding {
  const references = referencesOf(action, isLoop(action) ? action.parameters.in : action.parameters);
  if (action.depends_on === undefined && references.length === 0) return NO_NEEDS;
  const nodes: Node[] = [];
  const unseen: string[] = [];
  let failedBy: string | undefined;
  let itself = false;
  const need = (standing: Standing | undefined, id: string) => {
    if (standing?.state === 'open') nodes.push(standing.node);
    else if (standing?.state === 'failed') failedBy ??= standing.because;
    else if (standing === undefined) unseen.push(id);
  };
  for (const id of action.depends_on ?? []) {
    const sibling = isSibling(names, id, action);
    const standing = sibling ? standingOfAction(names.state, names.graph, id) : standingOf(names, id);
    const needed = sibling ? id : baseOf(id);
    if (needed === action.id) itself = true;
    else need(standing, needed);
  }
  if (references.length === 0) return { nodes, unseen, failedBy, itself, ...NO_REFERENCES };
  const bound = new Map<string, string>();
  const inserted = new Map<string, string>();
  const late: Reference[] = [];
  for (const reference of references) {
    const { name, path, whole } = reference;
    if (localOf(action, name) !== undefined) continue;
    const sibling = siblingOf(names, name, action, whole);
    const known = sibling ?? boundBefore(action, name);
    if (known !== undefined) {
      // One of its own round may come later, and stands for no other.
      need(
        sibling === undefined ? standingOf(names, known) : standingOfAction(names.state, names.graph, known),
        known,
      );
      (whole ? bound : inserted).set(name, known);
      continue;
    }
    if (declared && !whole) continue;
    const standing =
      findBefore(names, action, name, declared) ?? (whole ? findOutside(names, name, action) : undefined);
    const id = standing === undefined ? undefined : idOf(standing);
    if (standing !== undefined) need(standing, id ?? name);
    if (id !== undefined) (whole ? bound : inserted).set(name, id);
    else if (whole && !isOwnName(action, name) && !holds(standing, path)) late.push(reference);
  }
  return { nodes, unseen, failedBy, itself, bound, inserted, late };
}

/** Whether what is there now has such a part, or may yet have it. */
const holds = (standing: Standing | undefined, path: Reference['path']): boolean =>
  standing !== undefined && (standing.state !== 'value' || readPath(standing.value, path) !== undefined);

const referencesOf = (
  { literal }: DeclaredAction,
  parameters: Json | undefined,
): readonly ParameterReference[] =>
  literal === true || parameters === undefined ? [] : referencesInParameters(parameters);

/** What a name was bound to when the action, or the `<foreach>` that made it, was declared. */
const boundBefore = ({ references }: DeclaredAction, name: string): string | undefined =>
  references === undefined ? undefined : (ownProperty(references, name) as string | undefined);

/** A round of a `<foreach>` would find itself under its own name; who had that before is bound already. */
function findBefore(
  names: NameSpace,
  action: DeclaredAction,
  name: string,
  declared: boolean,
): Standing | undefined {
  if (action.base !== undefined && isOwnName(action, name)) return undefined;
  return declared ? findActionLater(names, name) : findAction(names, name);
}

/** The action or `<foreach>` that a name stands for; undefined for what comes from outside. */
function idOf(standing: Standing): string | undefined {
  if (standing.state !== 'open')
    return standing.state === 'failed' && standing.error ? undefined : standing.id;
  const { node } = standing;
  return node.kind === 'gate' && node.of === 'outside' ? undefined : node.id;
}

/**
 * `action` as it goes on the log, with what its references are bound to: those of its parameters, of `compensate`, and of
 * what a `<foreach>` makes. Asked, as `bind` is, before it or what it makes can find itself.
 */
export function withReferences(
  names: NameSpace,
  action: DeclaredAction,
  { bound, inserted }: Binding,
  declared: boolean,
): DeclaredAction {
  const all = new Map(inserted);
  // An id stands for its action without a record of it.
  for (const [name, id] of bound) if (name !== id) all.set(name, id);
  for (const { name, whole } of laterReferences(action)) {
    if (all.has(name)) continue;
    const standing = declared && !whole ? undefined : findBefore(names, action, name, declared);
    const id = boundBefore(action, name) ?? (standing && idOf(standing));
    if (id !== undefined) all.set(name, id);
  }
  if (all.size === 0 && action.references === undefined) return action;
  const { references: _, ...rest } = action;
  return all.size === 0 ? rest : { ...rest, references: Object.fromEntries(all) };
}

/** The references that count only once something was made of the action: what undoes it, or the rounds of a `<foreach>`. */
function laterReferences(action: DeclaredAction): readonly ParameterReference[] {
  if (isLoop(action))
    return loopOf(action).actions.flatMap((made) => [
      ...referencesOf(made, made.parameters),
      ...laterReferences(made),
    ]);
  const { compensate } = action;
  if (compensate === undefined || compensate.literal === true || !isJsonObject(compensate.parameters))
    return [];
  return referencesInParameters(compensate.parameters);
}

/** Whether it is of the same round of a `<foreach>`: then it is made with it. */
const isSibling = ({ loops }: NameSpace, id: string, { base, index }: DeclaredAction): boolean =>
  base !== undefined && id.endsWith(`[${index}]`) && loops?.get(baseOf(id)) === loops?.get(base);

/** What whole references that named nothing at the declaration name now, if that is not there yet, or never will be. */
export function lateNeeds(
  names: NameSpace,
  action: DeclaredAction,
  late: readonly Reference[],
): { readonly nodes: readonly Node[]; readonly failedBy: string | undefined } {
  const nodes: Node[] = [];
  let failedBy: string | undefined;
  for (const { name } of late) {
    const standing = find(names, name, action);
    if (standing?.state === 'open') nodes.push(standing.node);
    else if (standing?.state === 'failed') failedBy ??= standing.because;
  }
  return { nodes, failedBy };
}
