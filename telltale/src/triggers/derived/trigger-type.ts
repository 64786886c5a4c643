import type { EventType, SessionEvent } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json } from '../../kernel/json.ts';

/** What a trigger looks at. Nothing else may decide, so that the same log always gives the same values. */
export interface Seen {
  readonly event: SessionEvent;
  /** The session after it; not to be changed. */
  readonly state: SessionState;
  /** The trigger's own place, `variable NAME: triggers[0]`: what it brings onto the log has it for an id. */
  readonly place: string;
}

/** Whether a trigger matches; with `value` it says itself what the variable takes, in place of `set`. */
export type Match = boolean | { readonly value: Json };

/** An artifact's method that a trigger asks. What it answers comes back as an `invoke` whose `where` is the place. */
export interface FunctionCall {
  readonly artifact: string;
  readonly method: string;
  readonly fallback: Json;
}

/**
 * A type of trigger that sets derived variables. `parse` is called once for each trigger of an agent, with its keys as
 * the manifest's schema gives them; the others with each event, and must be pure.
 */
export interface DerivedTriggerType<Given, Parsed> {
  readonly description: string;
  parse(given: Given): Parsed;
  /** The events it can match or begin with; all of them if absent. */
  on?(parsed: Parsed): readonly EventType[];
  matches(parsed: Parsed, seen: Seen): Match;
  /** Where the event begins a time that the trigger waits for: how long. Then `timer.fired` has the place for an id. */
  delayMs?(parsed: Parsed, seen: Seen): number | undefined;
  /** Where an artifact is to be asked. */
  asks?(parsed: Parsed, seen: Seen): FunctionCall | undefined;
}

/** A trigger of a manifest, ready to look at events. */
export interface BoundTrigger {
  readonly type: string;
  readonly on: ReadonlySet<EventType> | 'all';
  matches(seen: Seen): Match;
  readonly delayMs?: (seen: Seen) => number | undefined;
  readonly asks?: (seen: Seen) => FunctionCall | undefined;
}

export function bindTrigger<Given, Parsed>(
  name: string,
  type: DerivedTriggerType<Given, Parsed>,
  given: Given,
): BoundTrigger {
  const parsed = type.parse(given);
  const on = type.on?.(parsed);
  const { delayMs, asks } = type;
  return {
    type: name,
    on: on === undefined ? 'all' : new Set(on),
    matches: (seen) => type.matches(parsed, seen),
    ...(delayMs === undefined ? {} : { delayMs: (seen) => delayMs(parsed, seen) }),
    ...(asks === undefined ? {} : { asks: (seen) => asks(parsed, seen) }),
  };
}
