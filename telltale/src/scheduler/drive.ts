import { type DeclaredAction, isTracked } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import { added, NONE, NOTHING } from '../kernel/grow.ts';
import type { Json } from '../kernel/json.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { withMethods } from '../kernel/with-methods.ts';
import { isAtRest } from './at-rest.ts';
import { ring } from './bell.ts';
import { endTurn } from './core.ts';
import type { SchedulerEdges } from './edges.ts';
import { revived } from './failures.ts';
import { duplicateId } from './faults.ts';
import { first, shifted } from './fifo.ts';
import { openLoop } from './gates-of.ts';
import { createGraph, type Gate } from './graph.ts';
import { loopAction } from './loops.ts';
import { named as tellNamed } from './named.ts';
import { fromOutside } from './outside.ts';
import { apply } from './record.ts';
import { resolution } from './resolution.ts';
import { restore as takeOver } from './restore.ts';
import { ended, failSession, rollback as undo } from './rollback.ts';
import { QUEUED, type Run } from './run.ts';
import type { Loop, Resolution, Scheduler, SchedulerOptions } from './scheduler.ts';
import { start } from './start.ts';
import { lose, openOf, stop, whenIdle } from './stop.ts';
import { freshLoopId, isTaken, take } from './take.ts';
import { whenEnded as callWhenEnded, whenOneEnded as callWhenOneEnded } from './when-ended.ts';
import type { Works } from './works.ts';

const DECLARED = { turn: 'open', undoes: undefined } as const;

const METHODS = {
  goOn,
  fatal,
  lookup,
  coming,
  heard,
  declare,
  loop,
  named,
  whenEnded,
  whenOneEnded,
  resolve,
  turnEnded,
  tracked,
  untracked,
  atRest,
  rollback,
  cancel,
  abandon,
  restore,
};

export const createScheduler = (options: SchedulerOptions, edges: SchedulerEdges): Scheduler =>
  withMethods<Works, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    ...{
      options,
      edges,
      state: options.state,
      graph: createGraph(),
      keys: undefined,
      loops: undefined,
      runs: NOTHING,
      openLoops: undefined,
      queue: undefined,
      free: undefined,
      places: options.parallelActions,
      starting: false,
      completed: NONE,
      life: 'open',
      shutReason: '',
      idle: undefined,
      undoing: undefined,
      loopsMade: 0,
      notes: undefined,
      waiters: NOTHING,
      ringing: false,
    },
  });

function goOn(this: Works): void {
  if (this.starting) return; // a target that was called just now declares or cancels: taken up below
  this.starting = true;
  try {
    startAll(this);
  } finally {
    this.starting = false;
  }
  ring(this);
}

/** Starts what is ready, in its order, as long as there are places. */
function startAll(works: Works): void {
  for (let run = next(works); run !== undefined; run = next(works))
    if (run.stage === QUEUED) start(works, run); // or it was cancelled meanwhile
}

function next(works: Works): Run | undefined {
  const { free, queue } = works;
  if (free !== undefined) {
    const run = first(free);
    works.free = shifted(free);
    return run;
  }
  if (queue === undefined || works.places <= 0) return undefined;
  const run = first(queue);
  works.queue = shifted(queue);
  return run;
}

function fatal(this: Works, id: string, error: RuntimeError, cause: Cause | undefined): void {
  failSession(this, id, error, cause);
}

function lookup(this: Works, name: string): Json | undefined {
  return this.edges.lookup(name);
}

function coming(this: Works, name: string): Gate | undefined {
  return fromOutside(this, name);
}

function heard(this: Works, id: string): void {
  if (this.graph.gates?.has(id) !== true) this.options.onEnded?.(id);
}

function declare(this: Works, action: DeclaredAction, cause: Cause): void {
  if (this.life === 'lost') return;
  if (isTaken(this, action.id)) this.edges.append(duplicateId(action.id), cause);
  else take(this, action, cause, DECLARED);
  this.goOn();
}

function loop(this: Works, asked: Loop, cause: Cause): void {
  if (this.life === 'lost') return;
  const actions = asked.actions.filter(({ id }) => {
    if (isTaken(this, id)) this.edges.append(duplicateId(id), cause);
    return !isTaken(this, id);
  });
  const taken = { ...asked, actions };
  const action = loopAction(freshLoopId(this), taken);
  if (this.life === 'open') openLoop(this, taken);
  take(this, action, cause, DECLARED);
  this.goOn();
}

function named(this: Works, values: Readonly<Record<string, unknown>>, cause: Cause): void {
  if (this.graph.unnamed === undefined) return;
  for (const name of Object.keys(values)) tellNamed(this, name, cause);
  this.goOn();
}

function whenEnded(this: Works, ids: readonly string[], then: () => void): () => void {
  return callWhenEnded(this, ids, then);
}

function whenOneEnded(this: Works, ids: readonly string[], then: () => void): () => void {
  return callWhenOneEnded(this, ids, then);
}

function resolve(this: Works, source: string): Resolution {
  return resolution(this, source);
}

function turnEnded(this: Works, how: 'well' | 'broken'): void {
  if (this.life === 'lost') return;
  for (const run of this.openLoops ?? []) if (run.turn === 'open') run.turn = how;
  apply(this, endTurn(this.graph, how), undefined);
  this.goOn();
}

function tracked(this: Works): readonly string[] {
  return openIds(this, true);
}

function untracked(this: Works): readonly string[] {
  return openIds(this, false);
}

function openIds({ runs }: Works, areTracked: boolean): readonly string[] {
  let ids: readonly string[] = NONE;
  for (const { action } of runs.values()) if (isTracked(action) === areTracked) ids = added(ids, action.id);
  return ids;
}

function atRest(this: Works): boolean {
  return isAtRest(this);
}

function rollback(this: Works, ...[to, cause, asked]: Parameters<Scheduler['rollback']>) {
  return undo(this, to, cause, asked && { ...asked, sparesLater: true });
}

function cancel(this: Works, reason: string, ids?: readonly string[]): Promise<void> {
  if (this.life === 'lost') return new Promise((resolve) => whenIdle(this, resolve));
  if (ids === undefined) {
    this.life = 'closed';
    this.shutReason = reason;
  }
  const those = ids === undefined ? this.runs.values() : ids.flatMap((id) => openOf(this, id));
  const running = stop(this, those, reason);
  this.goOn();
  return ended(this, running);
}

function abandon(this: Works): Promise<void> {
  lose(this);
  return new Promise((resolve) => whenIdle(this, resolve));
}

function restore(this: Works, state: SessionState): void {
  this.starting = true; // nothing starts before all is known again
  const failed = takeOver(this, state);
  this.starting = false;
  if (failed?.error !== undefined) {
    const { id } = failed.action;
    failSession(this, id, revived(failed.error), undefined, { by: id, sparesLater: false });
  }
  this.goOn();
}
