import { ownProperty } from '../expressions/values.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { ActionState, DeclaredAction } from '../log/action.ts';
import { hasEnded } from '../log/action.ts';
import { newestOf, writtenId } from '../log/action-id.ts';
import type { SessionState } from '../log/state.ts';
import { neverEnded } from './failures.ts';
import { type Gate, type Graph, isClosed, type Node } from './graph.ts';
import type { Loop } from './scheduler.ts';

/** What a name or an id stands for at this moment. */
export type Standing =
  | { readonly state: 'open'; readonly node: Node }
  /** `id` is the action or `<foreach>` it comes from; undefined for what the scheduler knows nothing of. */
  | { readonly state: 'value'; readonly value: Json; readonly id?: string }
  /** `because`: the failure at the root of it. */
  | { readonly state: 'failed'; readonly id: string; readonly because: string; readonly error?: ErrorJson };

/** All that names are looked up in. */
export interface NameSpace {
  readonly state: SessionState;
  readonly graph: Graph;
  lookup(name: string): Json | undefined;
  /** What is waited for until `lookup` has what the name stands for; undefined where it never will. */
  coming(name: string): Gate | undefined;
  /** The last action (or `<foreach>`) that was declared with an `output_key`. */
  keys: Map<string, string> | undefined;
  /** The loop that each base id stands in. */
  loops: Map<string, Loop> | undefined;
}

export function nameKey(names: NameSpace, key: string, id: string): void {
  names.keys ??= new Map();
  names.keys.set(key, id);
}

/**
 * What an id of `depends_on` stands for; undefined if nobody has declared it. Where there is no `page[3]`, because its
 * `<foreach>` has not come to it or never will, it stands for `page`: all of them.
 */
export function standingOf(names: NameSpace, id: string): Standing | undefined {
  const { state, graph } = names;
  const action = standingOfAction(state, graph, id);
  if (action !== undefined) return action;
  const gate = graph.gates?.get(id);
  if (gate !== undefined) return standingOfGate(state, gate);
  const base = baseOf(id);
  return base === id ? undefined : standingOf(names, base);
}

/** The same for an action only. */
export function standingOfAction(state: SessionState, graph: Graph, id: string): Standing | undefined {
  const node = graph.nodes.get(id);
  if (node !== undefined) return { state: 'open', node };
  const known = state.actions.get(id);
  // One that is open on the log but not here is still to be taken over after a restart.
  return known === undefined || !hasEnded(known.status) ? undefined : standingOfEnded(id, known);
}

function standingOfEnded(id: string, known: ActionState): Standing {
  if (known.status === 'completed') return { state: 'value', value: known.output ?? null, id };
  const because = known.skipped?.reason === 'dependency' ? (known.skipped.because ?? id) : id;
  return { state: 'failed', id, because };
}

function standingOfGate(state: SessionState, gate: Gate): Standing {
  if (gate.failedBy !== undefined) return { state: 'failed', id: gate.id, because: gate.failedBy };
  if (!isClosed(gate)) return { state: 'open', node: gate };
  return { state: 'value', value: outputsOf(state, gate), id: gate.id };
}

/** `page` of `page[3]`: brackets are in no other id. */
export function baseOf(id: string): string {
  const bracket = id.indexOf('[');
  return bracket === -1 ? id : id.slice(0, bracket);
}

const outputsOf = (state: SessionState, gate: Gate): Json =>
  gate.members.map((id) => state.actions.get(id)?.output ?? null);

/** The output of an action, or the list of those of a `<foreach>`. */
export function outputOf({ state, graph }: NameSpace, id: string): Json | undefined {
  const known = state.actions.get(id);
  if (known !== undefined) return hasEnded(known.status) ? (known.output ?? null) : undefined;
  const gate = graph.gates?.get(id);
  return gate === undefined ? undefined : outputsOf(state, gate);
}

/**
 * What `$name` stands for, in the order of the protocol: an `output_key`, an action id, what is known outside (feeds,
 * variables, metadata), a target called exactly once. Before all of these come the names that only `by` knows: the
 * item of its `<foreach>`, and its siblings there. What `by` itself is called stands for no action: who had the name
 * before it was bound when it was declared.
 */
export function find(names: NameSpace, name: string, by?: DeclaredAction): Standing | undefined {
  if (by === undefined) return findAction(names, name) ?? findOutside(names, name);
  const local = localOf(by, name);
  if (local !== undefined) return { state: 'value', value: local };
  const sibling = siblingOf(names, name, by);
  if (sibling !== undefined) return standingOfAction(names.state, names.graph, sibling);
  const action = isOwnName(by, name) ? undefined : findActionLater(names, name);
  return action ?? findOutside(names, name, by);
}

/** The action or `<foreach>` with this `output_key`, or the newest with this id. */
export const findAction = (names: NameSpace, name: string): Standing | undefined =>
  findKey(names, name) ?? findId(names, newestOf(names.state, name));

/**
 * The same for an action that is on the log. What of an id it did not find at its declaration came later in its turn, and
 * is the first that has it.
 */
export const findActionLater = (names: NameSpace, name: string): Standing | undefined =>
  findKey(names, name) ?? findId(names, name);

/** The value of a name that only `by` knows. */
export const localOf = ({ locals }: DeclaredAction, name: string): Json | undefined =>
  locals === undefined ? undefined : (ownProperty(locals, name) as Json | undefined);

export const isOwnName = ({ id, base, output_key }: DeclaredAction, name: string): boolean =>
  name === writtenId(id) || (base !== undefined && name === writtenId(base)) || name === output_key;

/**
 * The action of the same round of the `<foreach>` that `by` stands in, if another one there has that id or `output_key`.
 * `later`: also one that stands behind `by` in it.
 */
export function siblingOf(
  { loops }: NameSpace,
  name: string,
  by: DeclaredAction,
  later = true,
): string | undefined {
  const siblings = by.base === undefined ? undefined : loops?.get(by.base)?.actions;
  for (const { id, output_key } of siblings ?? []) {
    if (id === by.base && !later) return undefined;
    if (id !== by.base && (writtenId(id) === name || output_key === name)) return `${id}[${by.index}]`;
  }
  return undefined;
}

function findKey(names: NameSpace, name: string): Standing | undefined {
  const provider = names.keys?.get(name);
  if (provider === undefined) return undefined;
  const latest = standingOf(names, provider);
  // The one that was declared last counts, however long the others take: it is what was meant where the name was written.
  if (latest !== undefined && latest.state !== 'failed') return latest;
  const completed = names.state.outputs.get(name);
  const before = completed === undefined ? undefined : standingOf(names, completed);
  return before?.state === 'value' ? before : latest;
}

const findId = (names: NameSpace, id: string): Standing | undefined =>
  names.graph.gates?.get(id)?.of === 'parallel' ? undefined : standingOf(names, id);

/** Whoever is told of its end asks while it is still there. */
const standingOfComing = (gate: Gate, name: string): Standing =>
  gate.failedBy === undefined
    ? { state: 'open', node: gate }
    : { state: 'failed', id: name, because: gate.failedBy, error: gate.error ?? neverEnded(name) };

/** What a name stands for that no action has. */
export function findOutside(names: NameSpace, name: string, by?: DeclaredAction): Standing | undefined {
  const value = names.lookup(name);
  if (value !== undefined) return { state: 'value', value };
  const coming = names.coming(name);
  if (coming !== undefined) return standingOfComing(coming, name);
  const id = names.state.called.get(name);
  return id === undefined || id === by?.id ? undefined : standingOf(names, id);
}
