import type { FreeSlot } from '../engine/slots.ts';
import type { Cause } from '../events/event.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { SimpleStep, Step } from '../manifest/schema/steps/step.ts';
import type { Locals } from './scope.ts';

/** One time that a step without steps inside is begun. */
export interface LeafPlace {
  readonly step: SimpleStep;
  /** See `RunEventBody`. */
  readonly address: string;
  /** Items of the `foreach` steps around it, by name. */
  readonly locals: Locals;
}

export interface UndoPlace extends Omit<LeafPlace, 'step'> {
  readonly step: Step;
}

export interface LeafCall extends LeafPlace {
  readonly input: JsonObject;
  /** From 1 on. */
  readonly attempt: number;
  /** Aborted on time-out and cancellation; `run` must then end soon. */
  readonly signal: AbortSignal;
  /** The same for every try, also after a restart: `RUN:ADDRESS`. */
  readonly idempotencyKey: string;
  /** Its `step.started`. */
  readonly cause: Cause;
  /**
   * Says that the step has nothing to do before `due`, or before a message: once that is so of all steps in hand, the
   * run is let go of and later taken up again from its log. The returned function says that it goes on.
   */
  park(waitsFor: string, due?: number): () => void;
}

/** A step that is ready to begin. */
export interface ReadyLeaf {
  /** What it was given, resolved: put on the log with `step.started`. */
  readonly input: JsonObject;
  /** Whether it may be done again where a crash left it in doubt. */
  readonly repeatable: boolean;
  /** Time for each try where the step sets none. */
  readonly timeoutMs?: number;
  /**
   * There where its call needs a slot first: waited for before each try, ahead of `step.started`, and outside of the
   * step's time. What it gives, gives the slot back.
   */
  enter?(signal: AbortSignal): FreeSlot | Promise<FreeSlot>;
  /** The same where it can be had at once, without a signal: undefined where it must be waited for. */
  enterNow?(): FreeSlot | undefined;
  /** It keeps the step's `timeout` itself, on the log, so that it outlasts a restart: the machine sets none. */
  readonly timesItself?: true;
  /** Rejects with a RuntimeError. The result is plain JSON of bounded size. */
  run(call: LeafCall): Promise<Json>;
}

/** Told whether it may be done again where a crash left it in doubt, and the time that its target has by itself. */
export type BeginUndo = (repeatable: boolean, timeoutMs?: number) => Promise<void>;

/** What steps do. The machine knows when; this knows what. */
export interface Leaves {
  /**
   * Resolves what the step was written with, at once where nothing has to be read for it. Throws or rejects where a path
   * does not exist or a target is not there.
   */
  ready(place: LeafPlace): ReadyLeaf | Promise<ReadyLeaf>;
  /**
   * Undoes a completed step by its `compensate`; one with steps inside may have it as well. Nothing is called before
   * `begin` resolves.
   */
  compensate(place: UndoPlace, output: Json, signal: AbortSignal, begin: BeginUndo): Promise<void>;
}
