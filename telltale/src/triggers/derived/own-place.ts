import type { SessionEvent } from '../../events/event.ts';

const PREFIX = 'variable ';

/** Where a trigger of a derived variable stands: `variable done: triggers[0].reset_on[1]`. */
export const placeOf = (variable: string, path: string): string => `${PREFIX}${variable}: ${path}`;

export const isPlace = (id: string): boolean => id.startsWith(PREFIX);

/**
 * Whether derived variables themselves brought this event about. No trigger looks at such an event, but the one whose
 * timer or answer it is: so nothing can go round in circles, and variables follow from each other by `expression` only.
 */
export function ownPlace(event: SessionEvent): string | undefined {
  if (event.type === 'variable.changed') return event.class === 'derived' ? PREFIX : undefined;
  if (event.type === 'timer.set') return isPlace(event.id) ? PREFIX : undefined;
  const id = event.type === 'timer.fired' ? event.id : event.type === 'invoke' ? event.where : undefined;
  return id !== undefined && isPlace(id) ? id : undefined;
}
