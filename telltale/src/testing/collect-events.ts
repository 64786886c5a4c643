import type { ObservedEvent } from '../events/event.ts';
import type { Session } from '../session/runtime-types.ts';

/** All events of a session, live ones included, until it ends, or until one that `until` holds of. */
export async function collectEvents(
  session: Pick<Session<unknown>, 'events'>,
  until?: (event: ObservedEvent) => boolean,
): Promise<readonly ObservedEvent[]> {
  const events: ObservedEvent[] = [];
  for await (const event of session.events) {
    events.push(event);
    if (until?.(event) === true) break;
  }
  return events;
}
