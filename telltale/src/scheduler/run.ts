import { RunAhead } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import type { SessionState } from '../log/state.ts';
import type { Attempt } from './attempt.ts';
import type { Binding } from './bind.ts';
import type { TurnEnding } from './dependency-graph.ts';
import type { SchedulerDeps, TargetTraits } from './edges.ts';
import { type ActionNode, createGraph, type Gate } from './graph.ts';
import type { NameSpace } from './names.ts';
import type { SchedulerOptions } from './scheduler.ts';

/**
 * `failing`: an action with `on_error: fail` has failed, and only what undoes others may start. `closed`: nothing may.
 * `lost`: nothing may even be recorded.
 */
export type Life = 'open' | 'failing' | 'closed' | 'lost';

/** The state of a scheduler: names, actions and the ends to tell of. The files beside this one work on it. */
export abstract class SchedulerCore implements NameSpace, Bell {
  readonly options: SchedulerOptions;
  readonly deps: SchedulerDeps;
  readonly state: SessionState;
  readonly graph = createGraph();
  keys: NameSpace['keys'];
  loops: NameSpace['loops'];
  /** What has not ended. */
  readonly runs = new Map<string, Run>();
  /** Made for the first. */
  openLoops: Set<Run> | undefined;
  /** Ready, and waiting for a place. */
  queue: Fifo<Run> | undefined;
  /** Ready, and in need of none. */
  free: Fifo<Run> | undefined;
  /** Places left of `parallel_actions`. */
  places: number;
  /** Starts that ran ahead of the log. */
  readonly ahead = new RunAhead();
  /** Ids in the order of completion. */
  readonly completed: string[] = [];
  life: Life = 'open';
  /** Why it is not open any more. */
  shutReason = '';
  /** Who wants to know when nothing runs any more after the log was lost. */
  idle: Set<() => void> | undefined;
  /** The rollback in hand: the next one comes after it. */
  undoing: Promise<unknown> | undefined;
  /** The number of the last `<foreach>`. */
  loopsMade = 0;
  notes: Bell['notes'];
  readonly waiters: Bell['waiters'] = new Map();
  ringing = false;

  constructor(options: SchedulerOptions, deps: SchedulerDeps) {
    this.options = options;
    this.deps = deps;
    this.state = options.state;
    this.places = options.parallelActions;
  }

  /** Starts what may start, then tells of ends. */
  abstract goOn(): void;

  /** An action with `on_error: fail` has failed for good. */
  abstract fatal(id: string, error: RuntimeError, cause: Cause | undefined): void;

  abstract whenEnded(ids: readonly string[], then: () => void): () => void;

  abstract coming(name: string): Gate | undefined;

  lookup(name: string): Json | undefined {
    return this.deps.lookup(name);
  }

  heard(id: string): void {
    if (this.graph.gates?.has(id) !== true) this.options.onEnded?.(id);
  }
}

export interface Running {
  readonly at: 'running';
  /** Undefined while its target is being called. */
  attempt: Attempt | undefined;
  /** Why it was cancelled, if it was. */
  cancelled: string | undefined;
}

export interface Clearing {
  readonly at: 'clearing';
  readonly withdraw: () => void;
}

export interface Looking {
  readonly at: 'looking';
  readonly withdraw: () => void;
}

export interface Slotting {
  readonly at: 'slotting';
  readonly withdraw: () => void;
}

/** Where an action is on its way, as far as time is concerned. */
export type RunStage =
  /** For what the graph says. */
  | { readonly at: 'waiting' }
  /** For a place among those that run. */
  | { readonly at: 'queued' }
  /** For leave to start; `withdraw` takes the question back. */
  | Clearing
  /** For whoever looks at it before it begins, or before its end is recorded. */
  | Looking
  /** For one of the slots that its target has. */
  | Slotting
  /** For the commit of its `action.started`. */
  | { readonly at: 'committing' }
  | Running
  /** For its next try; `forget` takes it back. */
  | { readonly at: 'resting'; readonly forget: () => void }
  | { readonly at: 'ended' };

export const WAITING: RunStage = { at: 'waiting' };
export const QUEUED: RunStage = { at: 'queued' };
export const ENDED: RunStage = { at: 'ended' };

/** An action from its declaration to its end. */
export interface Run {
  readonly action: DeclaredAction;
  readonly node: ActionNode;
  binding: Binding;
  /** Undefined where there is no such target, or none yet. */
  traits: TargetTraits | undefined;
  /** The action that this one undoes. */
  readonly undoes: string | undefined;
  /** Whether it takes one of the places of `parallel_actions`. */
  readonly counted: boolean;
  /** How the turn that declared it ended, where it has. */
  turn: 'open' | TurnEnding;
  /** The last event that moved it on. */
  cause: Cause | undefined;
  stage: RunStage;
  /** Resolved parameters, from its first try on, or from when somebody was asked about them. */
  input: JsonObject | undefined;
  /** Whether it has leave to start. */
  cleared: boolean;
  /** Whether those who look at actions before they begin have seen it. */
  looked: boolean;
  /** Gives back the slot of its target that it has. */
  slot?: (() => void) | undefined;
  /** Of a try that must not be made twice: says that its end is on the log. */
  leaveOnce?: (() => void) | undefined;
  /** Whether it keeps its place while it waits for a slot. */
  keepsPlace?: boolean;
  attempts: number;
  failures: number;
  /** When its first try began. */
  since: number;
  /** When its target gave the result that is being looked at. */
  until?: number;
}

/** Tells of ends, in the order of the log. */
export interface Bell {
  /** Ids that have ended and that nobody was told of. */
  notes: Fifo<string> | undefined;
  /** Who waits for which id. */
  readonly waiters: Map<string, RunWaiter[]>;
  ringing: boolean;
  /** Told of each end, before those who wait for it. */
  heard(id: string): void;
}

interface RunWaiter {
  left: number;
  readonly then: () => void;
}

/** This id has ended. Nobody is told before `ring`. */
export function noteEnd(bell: Bell, id: string): void {
  bell.notes = pushed(bell.notes, id);
}

/** Calls back once so many of these are noted. The returned function forgets it. */
export function waitForEnds(bell: Bell, ids: readonly string[], left: number, then: () => void): () => void {
  const waiter: RunWaiter = { left, then };
  for (const id of ids) {
    const waiting = bell.waiters.get(id);
    if (waiting === undefined) bell.waiters.set(id, [waiter]);
    else waiting.push(waiter);
  }
  return () => {
    waiter.left = 0; // where it is being told now
    for (const id of ids) leave(bell, id, waiter);
  };
}

function leave(bell: Bell, id: string, waiter: RunWaiter): void {
  const waiting = bell.waiters.get(id);
  if (waiting === undefined) return;
  const others = waiting.filter((each) => each !== waiter);
  if (others.length === 0) bell.waiters.delete(id);
  else bell.waiters.set(id, others);
}

/** Tells whoever waits, what comes up meanwhile included. */
export function ring(bell: Bell): void {
  if (bell.ringing) return; // whoever is being told has brought about another end: that is told next
  bell.ringing = true;
  try {
    for (let { notes } = bell; notes !== undefined; { notes } = bell) {
      const id = first(notes);
      bell.notes = shifted(notes);
      tell(bell, id);
    }
  } finally {
    bell.ringing = false;
  }
}

function tell(bell: Bell, id: string): void {
  bell.heard(id);
  const waiting = bell.waiters.get(id);
  if (waiting === undefined) return;
  bell.waiters.delete(id);
  for (const waiter of waiting) if (--waiter.left === 0) waiter.then();
}

/** Forgets what was noted. */
export function mute(bell: Bell): void {
  bell.notes = undefined;
}

/** First in, first out, at a constant cost: `Array.shift` moves all that is behind. An empty one is undefined. */
export interface Fifo<T> {
  items: T[];
  /** Places that have been used up. */
  used: number;
}

/** Used-up places that are kept before the rest is moved to the front. */
const MAX_USED = 1024;

/** With this at its end: the same one, unless it was empty. */
export function pushed<T>(fifo: Fifo<T> | undefined, item: T): Fifo<T> {
  if (fifo === undefined) return { items: [item], used: 0 };
  fifo.items.push(item);
  return fifo;
}

export const first = <T>({ items, used }: Fifo<T>): T => items[used] as T;

/** Without its first: the same one, unless that leaves none. */
export function shifted<T>(fifo: Fifo<T>): Fifo<T> | undefined {
  const { items } = fifo;
  fifo.used++;
  if (fifo.used === items.length) return undefined;
  if (fifo.used > MAX_USED && fifo.used * 2 > items.length) {
    fifo.items = items.slice(fifo.used);
    fifo.used = 0;
  }
  return fifo;
}
