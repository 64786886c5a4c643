import type { EventType } from '../../../events/event.ts';
import type { Json } from '../../../kernel/json.ts';
import type { GivenTrigger } from '../given-trigger.ts';
import type { DerivedTriggerType, FunctionCall, Match } from '../trigger-type.ts';

type Given = GivenTrigger<'function'>;

/** What changes something of what an artifact is shown. */
const ASKED_AT: readonly EventType[] = [
  'session.started',
  'session.resumed',
  'turn.completed',
  'metadata.changed',
  'variable.changed',
  'action.completed',
  'action.failed',
];

/** Pure, since the answer is on the log: what is asked outside comes back as an `invoke`, and only that counts. */
export const onFunction: DerivedTriggerType<Given, FunctionCall> = {
  description: 'An artifact decides.',
  parse: ({ artifact, method, fallback }) => ({ artifact, method, fallback: fallback as Json }),
  on: () => [...ASKED_AT, 'invoke'],
  matches: (_, { event, place }) => event.type === 'invoke' && event.where === place && matchOf(event.result),
  asks: (call, { event }) => (ASKED_AT.includes(event.type) ? call : undefined),
};

/** True is "set it"; false and null are "leave it"; anything else is the value itself. */
const matchOf = (result: Json): Match =>
  typeof result === 'boolean' ? result : result === null ? false : { value: result };
