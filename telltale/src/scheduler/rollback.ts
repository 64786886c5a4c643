import type { ActionKind } from '../lib/calls.ts';
import type { RuntimeError } from '../lib/errors.ts';

import { isJsonObject, type Json } from '../lib/json.ts';
import { type DeclaredAction, writtenId } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import { addAction, isIdTaken } from './declare.ts';
import { breakStreamDeadlocks, clearBlockers, deadlock } from './dependency-graph.ts';
import { notInHistory } from './faults.ts';
import { type ActionNode, dependenciesOf, isPending, type Node } from './graph.ts';
import { type NameSpace, outputOf } from './names.ts';
import { applyChanges } from './record.ts';
import type { SchedulerCore } from './scheduler-core.ts';
import type { RollbackResult } from './scheduler-deps.ts';
import { stopRuns, whenIdle } from './stop.ts';

/** Resolves when these have ended or, once the log is lost, when nothing runs any more. */
export const whenStopped = (scheduler: SchedulerCore, ids: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    if (scheduler.status === 'lost') {
      whenIdle(scheduler, resolve);
      return;
    }
    scheduler.idle.add(resolve);
    scheduler.whenAllEnded(ids, () => {
      scheduler.idle.delete(resolve);
      resolve();
    });
  });

/** The action that asks for a rollback. After a restart, the same rollback does not undo an action twice. */
interface RollbackRequest {
  readonly by: string;
  /** Whether actions that were declared later stay as they are. */
  readonly sparesLater: boolean;
  /** Aborting it stops the rollback before the next action. */
  readonly signal?: AbortSignal;
}

/** Undoes completed actions back to `to`. Rollbacks run one after the other. */
export function rollback(
  scheduler: SchedulerCore,
  to: string | undefined,
  cause: Cause | undefined,
  request?: RollbackRequest,
): Promise<RollbackResult> {
  const done = (scheduler.undoing ?? Promise.resolve()).then(() => undoAll(scheduler, to, cause, request));
  scheduler.undoing = done.catch(() => undefined); // the caller gets the error
  return done;
}

async function undoAll(
  scheduler: SchedulerCore,
  to: string | undefined,
  cause: Cause | undefined,
  request: RollbackRequest | undefined,
): Promise<RollbackResult> {
  const { state } = scheduler;
  const later = request === undefined ? new Set<string>() : declaredAfter(state, new Set([request.by]));
  const ids = undoneByActions(state, later); // before a restart
  const left: string[] = [];
  const spared = request?.sparesLater === true ? later : new Set<string>();
  for (const id of undoPlan(scheduler, scheduler.completed, to, spared)) {
    if (isClosing(scheduler) || request?.signal?.aborted === true) break;
    await undoOne(scheduler, id, cause, later, request?.by);
    (state.actions.get(id)?.status === 'compensated' ? ids : left).push(id);
  }
  return { undone: ids, left };
}

/** Whether nothing more may be undone: everything was cancelled, or another process owns the log. */
const isClosing = ({ status }: SchedulerCore): boolean => status === 'closed' || status === 'lost';

/** Undoes one action, unless that was tried before. `own` contains the attempts of this same rollback before a restart. */
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
    if (tried === undefined && !isIdTaken(scheduler, by)) {
      addAction(scheduler, undoAction(scheduler, by, known), cause, { turn: 'well', undoes: id });
      waitForUndo(scheduler, asker, by);
      scheduler.advance();
      await whenStopped(scheduler, [by]);
      return;
    }
    if (tried === undefined || undoneActionOf(state, tried.action) !== id) continue;
    waitForUndo(scheduler, asker, by);
    await whenStopped(scheduler, [by]);
    if (isClosing(scheduler)) return;
    // Nobody knows whether an interrupted undo did its work, and undoing twice may be worse than not at all.
    if (tried.status === 'completed' || tried.status === 'interrupted' || own.has(by)) return;
  }
}

/** An action with `on_error: fail` has failed: stops the others, undoes what was done, then ends the session. */
export function failSession(
  scheduler: SchedulerCore,
  id: string,
  error: RuntimeError,
  cause: Cause | undefined,
  request?: RollbackRequest,
): void {
  scheduler.status = 'failing';
  scheduler.closeReason = `Action "${id}" failed, and its on_error is "fail".`;
  const others = [...scheduler.runs.values()].filter(({ undoes }) => undoes === undefined);
  const open = stopRuns(scheduler, others, scheduler.closeReason);
  whenStopped(scheduler, open)
    .then(() => rollback(scheduler, undefined, cause, request))
    .then(({ left }) => {
      if (scheduler.status !== 'failing') return; // cancelled meanwhile, which ends the session in another way
      scheduler.status = 'closed';
      scheduler.options.onFatal(error, id, left);
    });
}

/**
 * Adds to the graph that a running rollback waits for an undo action, to find deadlocks: the undo action must not wait for
 * the rollback, nor for something that only the rest of the turn can declare while the stream waits for the rollback. The
 * undo action does not get the rollback as a dependent, because the rollback has started already.
 */
function waitForUndo(scheduler: SchedulerCore, asker: string | undefined, undo: string): void {
  const { graph } = scheduler;
  const asking = asker === undefined ? undefined : graph.nodes.get(asker);
  const node = graph.nodes.get(undo);
  if (asking === undefined || node === undefined) return;
  if (waitsFor(node, asking)) {
    applyChanges(
      scheduler,
      deadlock(graph, node, { kind: 'cycle', path: [undo, asking.id, undo] }, []),
      undefined,
    );
    return;
  }
  asking.waitsFor.push(node);
  clearBlockers(graph);
  applyChanges(scheduler, breakStreamDeadlocks(graph), undefined);
}

function waitsFor(from: ActionNode, sought: ActionNode): boolean {
  const seen = new Set<Node>([from]);
  // Iterating over a Set also visits what is added on the way.
  for (const node of seen) {
    if (node === sought) return true;
    for (const next of dependenciesOf(node)) if (isPending(next)) seen.add(next);
  }
  return false;
}

/** The action that the `compensate` of a completed action describes. */
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

const ACTION_KINDS: ReadonlySet<string> = new Set<ActionKind>([
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
  return typeof type === 'string' && ACTION_KINDS.has(type) ? (type as ActionKind) : 'tool';
}

/**
 * Values that an undo action knows by name: the output of the action that it undoes, by its `output_key`, even if that key
 * was declared again since. In a `<foreach>` also the outputs of the same iteration, by id and key.
 */
function ownOutputs(names: NameSpace, action: DeclaredAction): Record<string, Json> {
  const outputs = new Map<string, Json>();
  const iteration = action.base === undefined ? undefined : names.loops.get(action.base)?.actions;
  for (const { id, output_key } of iteration ?? []) {
    const output = outputOf(names, `${id}[${action.index}]`);
    if (output === undefined) continue;
    for (const name of [writtenId(id), output_key])
      if (name !== undefined && !outputs.has(name)) outputs.set(name, output);
  }
  if (action.output_key !== undefined) outputs.set(action.output_key, outputOf(names, action.id) ?? null);
  return Object.fromEntries(outputs);
}

/** The id of the `n`th attempt to undo `id`. */
const undoId = (id: string, n: number): string => (n === 1 ? `undo_${id}` : `undo_${id}_${n}`);

/** The action that this one undoes, if it is an undo action. */
export function undoneActionOf(
  state: SessionState,
  { id, depends_on, name }: DeclaredAction,
): string | undefined {
  const of = depends_on?.length === 1 ? depends_on[0] : undefined;
  if (of === undefined || !id.startsWith(`undo_${of}`)) return undefined;
  return state.actions.get(of)?.action.compensate?.name === name ? of : undefined;
}

/** The actions that these have undone, in the order in which the undo actions were declared. */
function undoneByActions(state: SessionState, ids: ReadonlySet<string>): string[] {
  const all: string[] = [];
  for (const id of ids) {
    const known = state.actions.get(id);
    const of = known?.status === 'completed' ? undoneActionOf(state, known.action) : undefined;
    if (of !== undefined) all.push(of);
  }
  return all;
}

/**
 * The actions that a rollback undoes, last completed first. `completed` has the ids of actions in the order of their
 * completion. If `to` never completed, the rollback undoes what was declared after it. `spared` actions stay.
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
  const join = graph.joins.get(to);
  if (join === undefined && !state.actions.has(to)) throw notInHistory(to);
  const named = new Set([to, ...(join?.members ?? [])]);
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
