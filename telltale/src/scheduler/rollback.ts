import type { ActionKind } from '../lib/calls.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import { writtenId } from '../log/action-id.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import { deadlock, forgetFree, freeStream } from './dependency-graph.ts';
import { notInHistory } from './failures.ts';
import { type ActionNode, above, isPending, type Node } from './graph.ts';
import { type NameSpace, outputOf } from './names.ts';
import { apply } from './record.ts';
import type { SchedulerCore } from './run.ts';
import type { RolledBack } from './scheduler.ts';
import { stop, whenIdle } from './stop.ts';
import { isTaken, take } from './take.ts';

/** Resolves when these have ended, or, once the log is lost, when nothing runs any more. */
export const ended = (scheduler: SchedulerCore, ids: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    if (scheduler.life === 'lost') {
      whenIdle(scheduler, resolve);
      return;
    }
    scheduler.idle ??= new Set();
    scheduler.idle.add(resolve);
    scheduler.whenEnded(ids, () => {
      scheduler.idle?.delete(resolve);
      resolve();
    });
  });

/** What asks for a rollback, which may go on after a restart: it tries nothing again that it tried before. */
interface RollbackAsking {
  readonly by: string;
  /** Whether what was declared behind it stays as it is. */
  readonly sparesLater: boolean;
  /** Aborted where no further one is to be undone. */
  readonly signal?: AbortSignal;
}

/** Undoes what was completed, back to `to`; one rollback after the other. */
export function rollback(
  scheduler: SchedulerCore,
  to: string | undefined,
  cause: Cause | undefined,
  asking?: RollbackAsking,
): Promise<RolledBack> {
  const done = (scheduler.undoing ?? Promise.resolve()).then(() => undoAll(scheduler, to, cause, asking));
  scheduler.undoing = done.catch(() => undefined); // the caller hears of it
  return done;
}

async function undoAll(
  scheduler: SchedulerCore,
  to: string | undefined,
  cause: Cause | undefined,
  asking: RollbackAsking | undefined,
): Promise<RolledBack> {
  const { state } = scheduler;
  const nobody = new Set<string>();
  const later = asking === undefined ? nobody : declaredAfter(state, new Set([asking.by]));
  const ids = undoneBy(state, later); // before a restart
  const left: string[] = [];
  const spared = asking?.sparesLater === true ? later : nobody;
  for (const id of undoPlan(scheduler, scheduler.completed, to, spared)) {
    if (isShut(scheduler) || asking?.signal?.aborted === true) break;
    await undoOne(scheduler, id, cause, later, asking?.by);
    (state.actions.get(id)?.status === 'compensated' ? ids : left).push(id);
  }
  return { undone: ids, left };
}

/** Nothing is undone any more: what was being undone may have been cancelled, or belongs to whoever goes on. */
const isShut = ({ life }: SchedulerCore): boolean => life === 'closed' || life === 'lost';

/** Bounded by the number of actions: each round but the last finds one. `own`: the tries of this very rollback are among these. */
async function undoOne(
  scheduler: SchedulerCore,
  id: string,
  cause: Cause | undefined,
  own: ReadonlySet<string>,
  asker: string | undefined,
): Promise<void> {
  const { state } = scheduler;
  const known = state.actions.get(id);
  if (known === undefined) return;
  for (let n = 1; ; n++) {
    const by = undoId(id, n);
    const tried = state.actions.get(by);
    if (tried === undefined && !isTaken(scheduler, by)) {
      take(scheduler, undoAction(scheduler, by, known), cause, { turn: 'well', undoes: id });
      waitForUndo(scheduler, asker, by);
      scheduler.goOn();
      await ended(scheduler, [by]);
      return;
    }
    if (tried === undefined || undone(state, tried.action) !== id) continue;
    waitForUndo(scheduler, asker, by);
    await ended(scheduler, [by]);
    if (isShut(scheduler)) return;
    // Nobody knows whether an interrupted one did its work: doing it twice may be worse than not at all.
    if (tried.status === 'completed' || tried.status === 'interrupted' || own.has(by)) return;
  }
}

/** An action with `on_error: fail` has failed: ends the rest, undoes what was done, then says so. */
export function failSession(
  scheduler: SchedulerCore,
  id: string,
  error: RuntimeError,
  cause: Cause | undefined,
  asking?: RollbackAsking,
): void {
  scheduler.life = 'failing';
  scheduler.shutReason = `Action "${id}" failed, and its on_error is "fail".`;
  const others = [...scheduler.runs.values()].filter(({ undoes }) => undoes === undefined);
  const open = stop(scheduler, others, scheduler.shutReason);
  ended(scheduler, open)
    .then(() => rollback(scheduler, undefined, cause, asking))
    .then(({ left }) => {
      if (scheduler.life !== 'failing') return; // cancelled meanwhile: whoever did that has the word
      scheduler.life = 'closed';
      scheduler.options.onFatal(error, id, left);
    });
}

/**
 * Has the graph know that a rollback, which runs, waits for what undoes something: upwards only, since it is not started
 * again when that has ended. What undoes it must not wait for the rollback, nor for what only the rest of the turn could
 * bring where that waits for the rollback.
 */
function waitForUndo(scheduler: SchedulerCore, asker: string | undefined, undo: string): void {
  const { graph } = scheduler;
  const asking = asker === undefined ? undefined : graph.nodes.get(asker);
  const node = graph.nodes.get(undo);
  if (asking === undefined || node === undefined) return;
  if (waitsFor(node, asking)) {
    apply(scheduler, deadlock(graph, node, { kind: 'cycle', path: [undo, asking.id, undo] }, []), undefined);
    return;
  }
  asking.waitsFor.push(node);
  forgetFree(graph);
  apply(scheduler, freeStream(graph), undefined);
}

function waitsFor(from: ActionNode, sought: ActionNode): boolean {
  const seen = new Set<Node>([from]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const node of seen) {
    if (node === sought) return true;
    for (const next of above(node)) if (isPending(next)) seen.add(next);
  }
  return false;
}

/** The action that `compensate` of a completed one asks for. */
function undoAction(
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
const undoId = (id: string, n: number): string => (n === 1 ? `undo_${id}` : `undo_${id}_${n}`);

/** The action that this one undoes, if it was made to undo one. */
export function undone(state: SessionState, { id, depends_on, name }: DeclaredAction): string | undefined {
  const of = depends_on?.length === 1 ? depends_on[0] : undefined;
  if (of === undefined || !id.startsWith(`undo_${of}`)) return undefined;
  return state.actions.get(of)?.action.compensate?.name === name ? of : undefined;
}

/** What those of these that have completed have undone, in the order of their declaration. */
function undoneBy(state: SessionState, ids: ReadonlySet<string>): string[] {
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
function undoPlan(
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

function declaredAfter(state: SessionState, named: ReadonlySet<string>): ReadonlySet<string> {
  const later = new Set<string>();
  let passed = false;
  for (const id of state.actions.keys()) {
    if (passed) later.add(id);
    else passed = named.has(id);
  }
  return later;
}
