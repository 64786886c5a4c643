import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { eventClause } from './event-clause.ts';

export interface EventFilter {
  /** The part of the type before the dot, such as `action`. Empty for all. */
  readonly group: string;
  /** Text that must occur in the event's type, sentence or JSON. */
  readonly text: string;
}

const groupOf = (type: string): string => type.split('.', 1)[0] ?? type;

/** The groups that occur, and the number of events in each. */
export function groupsOf(events: readonly SessionEvent[], seq: number): ReadonlyMap<string, number> {
  const groups = new Map<string, number>();
  for (const event of events) {
    if (event.seq > seq) break;
    const group = groupOf(event.type);
    groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  return groups;
}

/** The events up to `seq` that match. Returns the list itself if the filter is empty. */
export function filterEvents(
  events: readonly SessionEvent[],
  { group, text }: EventFilter,
  seq: number,
): readonly SessionEvent[] {
  const wanted = text.trim().toLowerCase();
  const until = Math.min(seq, events.length);
  if (group === '' && wanted === '') return until === events.length ? events : events.slice(0, until);
  const passed: SessionEvent[] = [];
  for (const event of events) {
    if (event.seq > seq) break;
    if (group !== '' && groupOf(event.type) !== group) continue;
    if (wanted === '' || holds(event, wanted)) passed.push(event);
  }
  return passed;
}

const holds = (event: SessionEvent, wanted: string): boolean =>
  event.type.includes(wanted) ||
  String(event.seq) === wanted ||
  eventClause(event).toLowerCase().includes(wanted) ||
  JSON.stringify(event).toLowerCase().includes(wanted);
