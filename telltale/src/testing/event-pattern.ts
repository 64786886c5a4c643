import type { ObservedEvent } from '../events/event.ts';
import type { RunEvent } from '../events/run-event.ts';

/** What happens in sessions, and in runs of workflows. */
export type AnyEvent = ObservedEvent | RunEvent;

/** What must be there; what is not named may be anything. Lists count as a whole. */
type Part<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: Part<T[Key]> }
    : T;

/** A type of event, some of its members, or a test of one's own. */
export type EventPattern<Event extends AnyEvent = ObservedEvent> =
  | Event['type']
  | {
      [Type in Event['type']]: { readonly type: Type } & Part<Extract<Event, { type: Type }>>;
    }[Event['type']]
  | ((event: Event) => boolean);

export function matches<Event extends AnyEvent>(event: Event, pattern: EventPattern<Event>): boolean {
  if (typeof pattern === 'string') return event.type === pattern;
  return typeof pattern === 'function' ? pattern(event) : holds(event, pattern);
}

function holds(value: unknown, part: unknown): boolean {
  if (Object.is(value, part)) return true;
  if (typeof value !== 'object' || typeof part !== 'object' || value === null || part === null) return false;
  if (Array.isArray(part))
    return (
      Array.isArray(value) &&
      value.length === part.length &&
      part.every((item, index) => holds(value[index], item))
    );
  return Object.entries(part).every(([key, inner]) =>
    inner === undefined ? true : holds((value as Readonly<Record<string, unknown>>)[key], inner),
  );
}

const MAX_SHOWN = 160;
const clip = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

export function showPattern<Event extends AnyEvent>(pattern: EventPattern<Event>): string {
  if (typeof pattern === 'string') return pattern;
  if (typeof pattern === 'function') return clip(pattern.name || String(pattern).replaceAll(/\s+/g, ' '));
  const { type, ...rest } = pattern;
  return clip(`${type} ${JSON.stringify(rest)}`);
}

/** Without what every event has. */
export function showEvent(event: AnyEvent): string {
  const { type, ...all } = event;
  const rest: Record<string, unknown> = { ...all };
  for (const key of ['seq', 'at', 'session', 'run', 'turn', 'cause']) delete rest[key];
  const seq = 'seq' in event ? `${event.seq}` : 'live';
  return clip(`${seq.padStart(4)} ${type} ${JSON.stringify(rest)}`);
}
