import type { Reference } from '../conditions/references/reference.ts';
import { referencesIn } from '../conditions/references/resolve-references.ts';
import type { DeclaredAction } from '../events/action.ts';
import type { Json } from '../kernel/json.ts';
import type { Needs } from './core.ts';
import type { Node } from './graph.ts';
import { baseOf, type NameSpace, type Standing, siblingOf, standingOf, standingOfAction } from './names.ts';
import { findReference } from './readings.ts';

/** What an action needs, and which actions its variables were bound to when it was declared. */
export interface Binding extends Needs {
  /** By name: the action or `<foreach>` whose output it takes, whatever is declared under that name later. */
  readonly bound: ReadonlyMap<string, string>;
  /** Those that named nothing. */
  readonly late: readonly Reference[];
}

const NO_REFERENCES: Pick<Binding, 'bound' | 'late'> = {
  bound: new Map(),
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

/** What `action` has to wait for. Asked before it is on the log, so that it does not find itself. */
export function bind(names: NameSpace, action: DeclaredAction, parameters: Json): Binding {
  const references = referencesIn(parameters);
  if (action.depends_on === undefined && references.length === 0) return NO_NEEDS;
  const nodes: Node[] = [];
  const unseen: string[] = [];
  let failedBy: string | undefined;
  let itself = false;
  const need = (standing: Standing | undefined, id: string) => {
    if (id === action.id) itself = true;
    else if (standing?.state === 'open') nodes.push(standing.node);
    else if (standing?.state === 'failed') failedBy ??= standing.because;
    else if (standing === undefined) unseen.push(id);
  };
  for (const id of action.depends_on ?? []) {
    const sibling = isSibling(names, id, action);
    const standing = sibling ? standingOfAction(names.state, names.graph, id) : standingOf(names, id);
    need(standing, sibling ? id : baseOf(id));
  }
  if (references.length === 0) return { nodes, unseen, failedBy, itself, ...NO_REFERENCES };
  const bound = new Map<string, string>();
  const late: Reference[] = [];
  for (const reference of references) {
    const found = findReference(names, reference, action);
    const sibling = siblingOf(names, reference.name, action);
    if (found !== undefined) {
      const id = found.standing.state === 'open' ? found.standing.node.id : found.standing.id;
      need(found.standing, id ?? '');
      // What comes from outside is taken from there when it starts.
      if (id !== undefined && !isOutside(found.standing)) bound.set(found.reading.name, id);
    } else if (sibling !== undefined) {
      need(undefined, sibling); // it comes later in the same round
      bound.set(reference.name, sibling);
    } else if (reference.name === action.id) itself = true;
    else late.push(reference);
  }
  return { nodes, unseen, failedBy, itself, bound, late };
}

const isOutside = (standing: Standing): boolean =>
  standing.state === 'open' && standing.node.kind === 'gate' && standing.node.of === 'outside';

/** Whether it is of the same round of a `<foreach>`: then it is made with it. */
const isSibling = ({ loops }: NameSpace, id: string, { base, index }: DeclaredAction): boolean =>
  base !== undefined && id.endsWith(`[${index}]`) && loops?.get(baseOf(id)) === loops?.get(base);

/** What variables that named nothing at the declaration name now, if that is not there yet, or never will be. */
export function lateNeeds(
  names: NameSpace,
  action: DeclaredAction,
  late: readonly Reference[],
): { readonly nodes: readonly Node[]; readonly failedBy: string | undefined } {
  const nodes: Node[] = [];
  let failedBy: string | undefined;
  for (const reference of late) {
    const standing = findReference(names, reference, action)?.standing;
    if (standing?.state === 'open') nodes.push(standing.node);
    else if (standing?.state === 'failed') failedBy ??= standing.because;
  }
  return { nodes, failedBy };
}
