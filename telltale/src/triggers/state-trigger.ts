import type { Condition } from '../conditions/maps/conditions.ts';
import type { Fields } from '../conditions/maps/matches.ts';

/** When a trigger on state fires. */
export type Fire = 'on_enter' | 'on_change' | 'on_update' | 'on_exit' | 'once';

/** A test that is no condition map: CEL. It must be pure and look at no field but those it names. */
export interface OpaqueTest {
  readonly kind: 'opaque';
  /** Names of top-level fields. */
  readonly fields: readonly string[];
  holds(fields: Fields): boolean;
}

/** A trigger on metadata or on variables. */
export interface StateTrigger {
  readonly test: Condition | OpaqueTest;
  readonly fire: Fire;
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
  /** As they were before; undefined at the first update of a session. */
  readonly previous: Fields['previous'];
  /** Names of the top-level fields whose values differ. */
  readonly changed: readonly string[];
}
