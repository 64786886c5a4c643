import type { Condition } from '../../../conditions/maps/conditions.ts';
import { matches } from '../../../conditions/maps/matches.ts';
import type { EventType } from '../../../events/event.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import { readConditions } from '../read-conditions.ts';
import type { DerivedTriggerType } from '../trigger-type.ts';

type Given = GivenTrigger<'event'>;

interface OnEvent {
  readonly type: EventType;
  readonly match: Condition | undefined;
}

export const onEvent: DerivedTriggerType<Given, OnEvent> = {
  description: 'An event appeared on the log.',
  parse: ({ event, match }) => ({
    // Types that nobody writes yet never come.
    type: event as EventType,
    match: match === undefined ? undefined : readConditions(match),
  }),
  on: ({ type }) => [type],
  matches: ({ type, match }, { event }) =>
    event.type === type && (match === undefined || matches(match, { current: { ...event } })),
};
