import type { DeclaredAction } from '../events/action.ts';
import { writtenId } from '../events/action-id.ts';
import type { SessionState } from '../events/state.ts';
import type { ActionKind } from '../kernel/action-envelope.ts';
import { isJsonObject, type Json } from '../kernel/json.ts';
import { notInHistory } from './failures.ts';
import { type NameSpace, outputOf } from './names.ts';

/** The action that `compensate` of a completed one asks for. */
export function undoAction(
  names: NameSpace,
  id: string,
  { action }: { readonly action: DeclaredAction },
): DeclaredAction {
  const { type, name, parameters, timeout, retry, on_error, if: test, output_key } = action.compensate ?? {};
  const literal = action.compensate?.literal === true;
  const locals = { ...action.locals, ...ownOutputs(names, action) };
  return {
    id,
    kind: kindOf(type),
    mode: 'async',
    name: typeof name === 'string' ? name : '',
    parameters: isJsonObject(parameters) ? parameters : {},
    depends_on: [action.id],
    references: { ...action.references, [writtenId(action.id)]: action.id },
    ...(literal ? { literal } : {}),
    ...(typeof timeout === 'number' ? { timeout } : {}),
    ...(typeof retry === 'number' ? { retry } : {}),
    ...(on_error === 'retry' ? { on_error } : {}),
    ...(typeof test === 'string' ? { if: test } : {}),
    ...(typeof output_key === 'string' ? { output_key } : {}),
    ...(Object.keys(locals).length === 0 ? {} : { locals }),
  };
}

const KINDS: ReadonlySet<string> = new Set<ActionKind>([
  'tool',
  'agent',
  'relic',
  'workflow',
  'llm',
  'artifact',
  'internal',
]);

function kindOf(type: Json | undefined): ActionKind {
  if (type === 'context_feed') return 'internal';
  return typeof type === 'string' && KINDS.has(type) ? (type as ActionKind) : 'tool';
}

/**
 * What undoes an action means its own output by its `output_key`, whoever has that name by now; and in a `<foreach>`
 * what is of the same round, by ids and keys.
 */
function ownOutputs(names: NameSpace, action: DeclaredAction): Record<string, Json> {
  const outputs = new Map<string, Json>();
  const round = action.base === undefined ? undefined : names.loops?.get(action.base)?.actions;
  for (const { id, output_key } of round ?? []) {
    const output = outputOf(names, `${id}[${action.index}]`);
    if (output === undefined) continue;
    for (const name of [writtenId(id), output_key])
      if (name !== undefined && !outputs.has(name)) outputs.set(name, output);
  }
  if (action.output_key !== undefined) outputs.set(action.output_key, outputOf(names, action.id) ?? null);
  return Object.fromEntries(outputs);
}

/** The id that the `n`th try to undo `id` has. */
export const undoId = (id: string, n: number): string => (n === 1 ? `undo_${id}` : `undo_${id}_${n}`);

/** The action that this one undoes, if it was made to undo one. */
export function undone(state: SessionState, { id, depends_on, name }: DeclaredAction): string | undefined {
  const of = depends_on?.length === 1 ? depends_on[0] : undefined;
  if (of === undefined || !id.startsWith(`undo_${of}`)) return undefined;
  return state.actions.get(of)?.action.compensate?.name === name ? of : undefined;
}

/** What those of these that have completed have undone, in the order of their declaration. */
export function undoneBy(state: SessionState, ids: ReadonlySet<string>): string[] {
  const all: string[] = [];
  for (const id of ids) {
    const known = state.actions.get(id);
    const of = known?.status === 'completed' ? undone(state, known.action) : undefined;
    if (of !== undefined) all.push(of);
  }
  return all;
}

/**
 * What a rollback has to undo, in its order: what completed last comes first. `completed` holds the ids of actions in
 * the order of their completion. Where `to` never completed, what was declared after it is undone. What is
 * `spared` is not.
 */
export function undoPlan(
  { state, graph }: NameSpace,
  completed: readonly string[],
  to: string | undefined,
  spared: ReadonlySet<string>,
): readonly string[] {
  const still = (id: string) => {
    const known = state.actions.get(id);
    return known?.status === 'completed' && known.action.compensate !== undefined && !spared.has(id);
  };
  if (to === undefined) return completed.filter(still).reverse();
  const gate = graph.gates?.get(to);
  if (gate === undefined && !state.actions.has(to)) throw notInHistory(to);
  const named = new Set([to, ...(gate?.members ?? [])]);
  const first = completed.findIndex((id) => named.has(id));
  if (first !== -1) return completed.slice(first).filter(still).reverse();
  const later = declaredAfter(state, named);
  return completed.filter((id) => later.has(id) && still(id)).reverse();
}

export function declaredAfter(state: SessionState, named: ReadonlySet<string>): ReadonlySet<string> {
  const later = new Set<string>();
  let passed = false;
  for (const id of state.actions.keys()) {
    if (passed) later.add(id);
    else passed = named.has(id);
  }
  return later;
}
