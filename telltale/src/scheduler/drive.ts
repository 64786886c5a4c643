import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import type { SessionState } from '../events/state.ts';
import { NONE, NOTHING } from '../kernel/grow.ts';
import type { Json } from '../kernel/json.ts';
import { RunAhead } from '../kernel/run-ahead.ts';
import type { RuntimeError } from '../kernel/runtime-error.ts';
import { withMethods } from '../kernel/with-methods.ts';
import { ask, askForEach, claim as claimId } from './ask.ts';
import { isAtRest, movingIds } from './at-rest.ts';
import { ring } from './bell.ts';
import type { TurnEnding } from './core.ts';
import { awaitsMore as awaits } from './cycles.ts';
import type { SchedulerDeps } from './edges.ts';
import { endOfGroup, endOfTurn } from './end-of-turn.ts';
import { revived } from './failures.ts';
import type { Fault } from './faults.ts';
import { first, shifted } from './fifo.ts';
import { spoilGroup } from './gates-of.ts';
import { createGraph, type Gate } from './graph.ts';
import { named as tellNamed } from './named.ts';
import { fromOutside } from './outside.ts';
import { resolution } from './resolution.ts';
import { restore as takeOver } from './restore.ts';
import { ended, failSession, rollback as undo } from './rollback.ts';
import { QUEUED, type Run } from './run.ts';
import type { Loop, Resolution, Scheduler, SchedulerOptions } from './scheduler.ts';
import { start } from './start.ts';
import { lose, openOf, stop, whenIdle } from './stop.ts';
import { isTaken as isIdTaken } from './take.ts';
import { trackedIds, untrackedIds } from './tracked.ts';
import { whenEnded as callWhenEnded, whenOneEnded as callWhenOneEnded } from './when-ended.ts';
import type { Works } from './works.ts';

const METHODS = {
  goOn,
  fatal,
  lookup,
  coming,
  heard,
  declare,
  claim,
  isTaken,
  loop,
  named,
  whenEnded,
  whenOneEnded,
  resolve,
  turnEnded,
  closed,
  spoil,
  awaitsMore,
  tracked,
  moving,
  untracked,
  atRest,
  rollback,
  cancel,
  abandon,
  restore,
};

export const createScheduler = (options: SchedulerOptions, deps: SchedulerDeps): Scheduler =>
  withMethods<Works, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    options,
    deps,
    state: options.state,
    graph: createGraph(),
    keys: undefined,
    loops: undefined,
    runs: NOTHING,
    openLoops: undefined,
    queue: undefined,
    free: undefined,
    places: options.parallelActions,
    ahead: new RunAhead(),
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
  return this.deps.lookup(name);
}

function coming(this: Works, name: string): Gate | undefined {
  return fromOutside(this, name);
}

function heard(this: Works, id: string): void {
  if (this.graph.gates?.has(id) !== true) this.options.onEnded?.(id);
}

function declare(this: Works, action: DeclaredAction, cause: Cause): string | undefined {
  if (this.life === 'lost') return undefined;
  const id = ask(this, action, cause);
  this.goOn();
  return id;
}

function claim(this: Works, id: string): string | Fault {
  return claimId(this, id, 'the <parallel>');
}

function isTaken(this: Works, id: string): boolean {
  return isIdTaken(this, id);
}

function loop(this: Works, asked: Loop, cause: Cause): void {
  if (this.life === 'lost') return;
  askForEach(this, asked, cause);
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

function turnEnded(this: Works, how: TurnEnding): void {
  if (this.life === 'lost') return;
  endOfTurn(this, how);
  this.goOn();
}

function spoil(this: Works, groups: readonly string[]): void {
  if (this.life === 'lost') return;
  for (const group of groups) spoilGroup(this, group);
  this.goOn();
}

function closed(this: Works, group: string): void {
  if (this.life === 'lost') return;
  endOfGroup(this, group);
  this.goOn();
}

function awaitsMore(this: Works, id: string): boolean {
  const { graph } = this;
  const node = graph.nodes.get(id) ?? graph.gates?.get(id);
  return node !== undefined && awaits(graph, node);
}

function tracked(this: Works): readonly string[] {
  return trackedIds(this);
}

function untracked(this: Works): readonly string[] {
  return untrackedIds(this);
}

function moving(this: Works): readonly string[] {
  return movingIds(this);
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
