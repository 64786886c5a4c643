import { type Reference, readWholeReference } from '../expressions/references/reference.ts';
import { ownProperty, readPath } from '../expressions/values.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { type ActionState, type DeclaredAction, hasEnded, newestOf, writtenId } from '../log/action.ts';
import type { SessionState } from '../log/state.ts';
import { type Graph, isClosed, type JoinNode, type Node } from './graph.ts';
import type { ForEachLoop, Resolution } from './scheduler-deps.ts';

/** What a name or an id stands for at this moment. */
export type Referent =
  | { readonly state: 'open'; readonly node: Node }
  /** `id`: the action or `<foreach>` that the value comes from. Absent for values from outside the scheduler. */
  | { readonly state: 'value'; readonly value: Json; readonly id?: string }
  /** `because`: the action whose failure is the root cause. */
  | { readonly state: 'failed'; readonly id: string; readonly because: string; readonly error?: ErrorJson };

/** Where names are looked up. */
export interface NameSpace {
  readonly state: SessionState;
  readonly graph: Graph;
  lookup(name: string): Json | undefined;
  /** A node to wait for until `lookup` knows the name. Undefined if it never will. */
  loadOutside(name: string): JoinNode | undefined;
  /** By `output_key`: the last action or `<foreach>` that was declared with it. */
  readonly keys: Map<string, string>;
  /** By the base id of an action: the `<foreach>` that contains it. */
  readonly loops: Map<string, ForEachLoop>;
}

/**
 * What an id of `depends_on` stands for. Undefined if it is not declared. If there is no `page[3]`, because its
 * `<foreach>` has not created it or never will, the id stands for all of `page`.
 */
export function referentOf(names: NameSpace, id: string): Referent | undefined {
  const { state, graph } = names;
  const action = referentOfAction(state, graph, id);
  if (action !== undefined) return action;
  const join = graph.joins.get(id);
  if (join !== undefined) return referentOfJoin(state, join);
  const base = baseOf(id);
  return base === id ? undefined : referentOf(names, base);
}

/** What an id stands for among actions only. */
export function referentOfAction(state: SessionState, graph: Graph, id: string): Referent | undefined {
  const node = graph.nodes.get(id);
  if (node !== undefined) return { state: 'open', node };
  const known = state.actions.get(id);
  // An action that is open on the log and has no node has not been restored yet.
  return known === undefined || !hasEnded(known.status) ? undefined : referentOfEnded(id, known);
}

function referentOfEnded(id: string, known: ActionState): Referent {
  if (known.status === 'completed') return { state: 'value', value: known.output ?? null, id };
  const because = known.skipped?.reason === 'dependency' ? (known.skipped.because ?? id) : id;
  return { state: 'failed', id, because };
}

function referentOfJoin(state: SessionState, join: JoinNode): Referent {
  if (join.failedBy !== undefined) return { state: 'failed', id: join.id, because: join.failedBy };
  if (!isClosed(join)) return { state: 'open', node: join };
  return { state: 'value', value: outputsOf(state, join), id: join.id };
}

/** `page` of `page[3]`. No other ids contain brackets. */
export function baseOf(id: string): string {
  const bracket = id.indexOf('[');
  return bracket === -1 ? id : id.slice(0, bracket);
}

const outputsOf = (state: SessionState, join: JoinNode): Json =>
  join.members.map((id) => state.actions.get(id)?.output ?? null);

/** The output of an action, or the list of outputs of a `<foreach>`. */
export function outputOf({ state, graph }: NameSpace, id: string): Json | undefined {
  const known = state.actions.get(id);
  if (known !== undefined) return hasEnded(known.status) ? (known.output ?? null) : undefined;
  const join = graph.joins.get(id);
  return join === undefined ? undefined : outputsOf(state, join);
}

/**
 * What `$name` stands for, in the order of the protocol: an `output_key`, an action id, a value from outside (feeds,
 * variables, metadata), a target that was called exactly once. Names that only `by` knows come first: the item of its
 * `<foreach>`, and its siblings there. The names of `by` itself stand for no action here. An earlier action with such a
 * name was bound when `by` was declared.
 */
export function findReferent(names: NameSpace, name: string, by?: DeclaredAction): Referent | undefined {
  if (by === undefined) return findAction(names, name) ?? findOutside(names, name);
  const local = localOf(by, name);
  if (local !== undefined) return { state: 'value', value: local };
  const sibling = siblingOf(names, name, by);
  if (sibling !== undefined) return referentOfAction(names.state, names.graph, sibling);
  const action = isOwnName(by, name) ? undefined : findActionLater(names, name);
  return action ?? findOutside(names, name, by);
}

/** The action or `<foreach>` with this `output_key`, or the newest with this id. */
export const findAction = (names: NameSpace, name: string): Referent | undefined =>
  findKey(names, name) ?? findId(names, newestOf(names.state, name));

/**
 * The same for an action that is on the log already. An id that it did not find when it was declared was declared later
 * in its turn, so the first action with that id counts.
 */
export const findActionLater = (names: NameSpace, name: string): Referent | undefined =>
  findKey(names, name) ?? findId(names, name);

/** The value of a name that only this action knows: the item of its `<foreach>`. */
export const localOf = ({ locals }: DeclaredAction, name: string): Json | undefined =>
  locals === undefined ? undefined : (ownProperty(locals, name) as Json | undefined);

export const isOwnName = ({ id, base, output_key }: DeclaredAction, name: string): boolean =>
  name === writtenId(id) || (base !== undefined && name === writtenId(base)) || name === output_key;

/**
 * The action with that id or `output_key` in the same iteration of the `<foreach>` that contains `by`. With `later`, it
 * may also come after `by`.
 */
export function siblingOf(
  { loops }: NameSpace,
  name: string,
  by: DeclaredAction,
  later = true,
): string | undefined {
  const siblings = by.base === undefined ? undefined : loops.get(by.base)?.actions;
  for (const { id, output_key } of siblings ?? []) {
    if (id === by.base && !later) return undefined;
    if (id !== by.base && (writtenId(id) === name || output_key === name)) return `${id}[${by.index}]`;
  }
  return undefined;
}

function findKey(names: NameSpace, name: string): Referent | undefined {
  const provider = names.keys.get(name);
  if (provider === undefined) return undefined;
  const latest = referentOf(names, provider);
  // The action that was declared last counts, however long the others take: the model meant that one.
  if (latest !== undefined && latest.state !== 'failed') return latest;
  const completed = names.state.outputs.get(name);
  const before = completed === undefined ? undefined : referentOf(names, completed);
  return before?.state === 'value' ? before : latest;
}

const findId = (names: NameSpace, id: string): Referent | undefined =>
  names.graph.joins.get(id)?.source === 'parallel' ? undefined : referentOf(names, id);

/** What a name stands for while it is being loaded, or has just failed to load. */
const referentOfLoading = (join: JoinNode, name: string): Referent =>
  join.failedBy === undefined
    ? { state: 'open', node: join }
    : { state: 'failed', id: name, because: join.failedBy, error: join.error ?? neverEnded(name) };

/** What a name stands for outside the actions, or the target that was called once under it. */
export function findOutside(names: NameSpace, name: string, by?: DeclaredAction): Referent | undefined {
  const value = names.lookup(name);
  if (value !== undefined) return { state: 'value', value };
  const coming = names.loadOutside(name);
  if (coming !== undefined) return referentOfLoading(coming, name);
  const id = names.state.called.get(name);
  return id === undefined || id === by?.id ? undefined : referentOf(names, id);
}

/** A way to read a reference in a response. Ids may contain hyphens, and prose may put a hyphen after a name. */
interface ReferenceReading extends Reference {
  /** The part of the source that is text in this reading. */
  readonly rest: string;
}

/** The possible readings of a reference, longest first. */
function* readings(reference: Reference): Iterable<ReferenceReading> {
  const { source } = reference;
  yield { ...reference, rest: '' };
  for (let end = source.lastIndexOf('-'); end > 0; end = source.lastIndexOf('-', end - 1)) {
    const shorter = readWholeReference(source.slice(0, end));
    if (shorter !== undefined) yield { ...shorter, rest: source.slice(end) };
  }
}

/** The first reading of `reference` that stands for something. */
function firstReading(
  names: NameSpace,
  reference: Reference,
): { readonly reading: ReferenceReading; readonly referent: Referent } | undefined {
  for (const reading of readings(reference)) {
    const referent = findReferent(names, reading.name);
    if (referent === undefined) continue;
    if (referent.state === 'value' && readPath(referent.value, reading.path) === undefined) continue;
    return { reading, referent };
  }
  return undefined;
}

/** What a `$reference` in a response stands for at this moment. */
export function resolveResponseReference(names: NameSpace, source: string): Resolution {
  const reference = readWholeReference(source);
  const found = reference === undefined ? undefined : firstReading(names, reference);
  if (found === undefined) return { state: 'unknown' };
  const { rest, path } = found.reading;
  const { referent } = found;
  switch (referent.state) {
    case 'open':
      return { state: 'pending', id: referent.node.id, rest };
    case 'value':
      return { state: 'value', value: readPath(referent.value, path) as Json, id: referent.id, rest };
    case 'failed': {
      const { id, because } = referent;
      if (referent.error !== undefined) return { state: 'failed', id, error: referent.error, rest };
      const known = names.state.actions.get(id) ?? names.state.actions.get(because);
      const error = known === undefined ? neverEnded(id) : whyUnavailable(known);
      return { state: 'failed', id, error, rest };
    }
  }
}

/** The error of an action that was still open when the session ended. */
const neverEnded = (id: string): ErrorJson => ({
  code: 'cancelled',
  message: `"${writtenId(id)}" came to no end.`,
  retryable: false,
});

/** Why an ended action has no output. */
function whyUnavailable(known: ActionState): ErrorJson {
  if (known.error !== undefined) return known.error;
  const id = writtenId(known.action.id);
  const { reason, because } = known.skipped ?? {};
  const detail = because === undefined ? '' : `: ${reason === 'if' ? because : writtenId(because)}`;
  return {
    code: known.status,
    message:
      reason === undefined ? `"${id}" was ${known.status}.` : `"${id}" was skipped (${reason}${detail}).`,
    retryable: false,
  };
}
