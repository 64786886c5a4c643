import type { EventType } from '../../../events/event.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import type { DerivedTriggerType } from '../trigger-type.ts';

type Given = GivenTrigger<'timer_expired'>;

interface TimerExpired {
  readonly since: EventType;
  readonly afterMs: number;
}

/** Each event of its type begins the time anew. */
export const timerExpired: DerivedTriggerType<Given, TimerExpired> = {
  description: 'Time has passed.',
  parse: ({ since, after }) => ({ since: since as EventType, afterMs: after.ms }),
  on: ({ since }) => [since, 'timer.fired'],
  matches: (_, { event, place }) => event.type === 'timer.fired' && event.id === place,
  delayMs: ({ since, afterMs }, { event }) => (event.type === since ? afterMs : undefined),
};
