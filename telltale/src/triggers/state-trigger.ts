import type { Condition, Fields } from '../expressions/maps/conditions.ts';

/** When a trigger on state fires. `once` is `on_enter` here: how often it fired already, the log knows. */
export type Fire = 'on_enter' | 'on_change' | 'on_update' | 'on_exit' | 'once';

/** A test that is no condition map: CEL. It must be pure and look at no field but those it names. */
export interface OpaqueTest {
  readonly kind: 'opaque';
  /** Names of top-level fields; `all` where it cannot be told which it reads. */
  readonly fields: readonly string[] | 'all';
  /** Whether it reads something beside the fields: whoever knows of a change there says so with `lookAgain`. */
  readonly readsBeyond?: boolean;
  holds(update: FieldUpdate): boolean;
}

/** A trigger on metadata or on variables. */
export interface StateTrigger {
  readonly test: Condition | OpaqueTest;
  readonly fire: Fire;
  /** Whether its end is told in any mode: something is to be cancelled then. */
  readonly watchesExit?: boolean;
}

/** What an update set off. `trigger` is its place in the list that was indexed. */
export interface Firing {
  readonly trigger: number;
  /** Whether the condition became true, stayed true or became false. */
  readonly as: 'enter' | 'stay' | 'exit';
}

/** One update of the fields, after it was accepted. */
export interface FieldUpdate {
  readonly current: Fields['current'];
  /** As they were before: at the first update of a session, its defaults. */
  readonly previous: Fields['previous'];
  /** Names of the top-level fields whose values differ. */
  readonly changed: readonly string[];
  /** What tests may read beside the fields. */
  readonly beyond?: Fields['current'];
  /** Hears why a test could not be evaluated and so is false, and of each that could. */
  readonly onProblem?: (trigger: string, message: string | undefined) => void;
}
