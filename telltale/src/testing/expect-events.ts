import { RuntimeError } from '../lib/errors.ts';
import type { ObservedEvent } from '../log/event.ts';
import type { RunEvent } from '../log/run-event.ts';

/** Claims about events; each throws `events_differ`, with the events in its message, unless it holds. */
export interface EventExpectations<Event extends ExpectEventsAnyEvent = ObservedEvent> {
  /** Each pattern fits an event, and each of these comes behind the one before. Others may stand between. */
  inOrder(...patterns: readonly EventPattern<Event>[]): EventExpectations<Event>;
  /** Each event fits its pattern, and there is no other. */
  exactly(...patterns: readonly EventPattern<Event>[]): EventExpectations<Event>;
  /** No event fits. */
  never(...patterns: readonly EventPattern<Event>[]): EventExpectations<Event>;
  /** So many events fit. */
  times(count: number, pattern: EventPattern<Event>): EventExpectations<Event>;
  /** The same of those events only that fit one of the patterns. */
  of(...patterns: readonly EventPattern<Event>[]): EventExpectations<Event>;
}

/** Looks at events of a log, of a session or a run, or at those that were observed. Needs no test framework. */
export function expectEvents(events: Iterable<ObservedEvent>): EventExpectations;
export function expectEvents(events: Iterable<RunEvent>): EventExpectations<RunEvent>;
export function expectEvents(
  events: Iterable<ObservedEvent> | Iterable<RunEvent>,
): EventExpectations | EventExpectations<RunEvent> {
  return claimsAbout([...(events as Iterable<ObservedEvent>)]);
}

function claimsAbout<Event extends ExpectEventsAnyEvent>(all: readonly Event[]): EventExpectations<Event> {
  const claims: EventExpectations<Event> = {
    inOrder(...patterns) {
      let from = 0;
      const found: number[] = [];
      for (const [index, pattern] of patterns.entries()) {
        const at = all.findIndex((event, place) => place >= from && matches(event, pattern));
        if (at === -1) throw notInOrder(all, patterns, found, index);
        found.push(at);
        from = at + 1;
      }
      return claims;
    },
    exactly(...patterns) {
      const at = Array.from({ length: Math.max(all.length, patterns.length) }).findIndex((_, place) => {
        const event = all[place];
        const pattern = patterns[place];
        return event === undefined || pattern === undefined || !matches(event, pattern);
      });
      if (at !== -1) throw notExactly(all, patterns, at);
      return claims;
    },
    never(...patterns) {
      for (const pattern of patterns) {
        const at = all.findIndex((event) => matches(event, pattern));
        if (at !== -1)
          throw differ(`There is an event that must not be: ${showPattern(pattern)}.`, all, new Set([at]));
      }
      return claims;
    },
    times(count, pattern) {
      const fitting = all.flatMap((event, at) => (matches(event, pattern) ? [at] : []));
      if (fitting.length !== count)
        throw differ(
          `${fitting.length} events fit, not ${count}: ${showPattern(pattern)}.`,
          all,
          new Set(fitting),
        );
      return claims;
    },
    of: (...patterns) =>
      claimsAbout(all.filter((event) => patterns.some((pattern) => matches(event, pattern)))),
  };
  return claims;
}

function notInOrder<Event extends ExpectEventsAnyEvent>(
  all: readonly Event[],
  patterns: readonly EventPattern<Event>[],
  found: readonly number[],
  missing: number,
): RuntimeError {
  const wanted = patterns[missing] as EventPattern<Event>;
  const before = patterns[missing - 1];
  const earlier = all.findIndex((event) => matches(event, wanted));
  const where = before === undefined ? '' : ` behind ${showPattern(before)}`;
  const elsewhere = earlier === -1 ? '' : ' It comes earlier.';
  return differ(`There is no ${showPattern(wanted)}${where}.${elsewhere}`, all, new Set(found));
}

function notExactly<Event extends ExpectEventsAnyEvent>(
  all: readonly Event[],
  patterns: readonly EventPattern<Event>[],
  at: number,
): RuntimeError {
  const pattern = patterns[at];
  const event = all[at];
  const message =
    pattern === undefined
      ? `${patterns.length} events were expected; there are ${all.length}.`
      : event === undefined
        ? `There is no event ${at + 1}; expected: ${showPattern(pattern)}.`
        : `Event ${at + 1} is another; expected: ${showPattern(pattern)}.`;
  return differ(message, all, new Set(Array.from({ length: at }, (_, place) => place)), at);
}

/** Events that a message shows: those round the place that matters. */
const MAX_LINES = 40;

/** What fits has a `✓`, where the claim ends a `✗`. */
function differ(
  message: string,
  all: readonly ExpectEventsAnyEvent[],
  fitting: ReadonlySet<number>,
  wrong = -1,
): RuntimeError {
  const last = wrong === -1 ? Math.max(-1, ...fitting) : wrong;
  const from = Math.max(0, Math.min(last - MAX_LINES / 2, all.length - MAX_LINES));
  const lines = all.slice(from, from + MAX_LINES).map((event, index) => {
    const at = from + index;
    return `${at === wrong ? '✗' : fitting.has(at) ? '✓' : ' '} ${showEvent(event)}`;
  });
  const left = all.length - lines.length;
  const note = left === 0 ? [] : [`  … and ${left} more`];
  const shown = all.length === 0 ? ['  (there are no events)'] : [...lines, ...note];
  return new RuntimeError('events_differ', `${message}\n${shown.join('\n')}`);
}

/** What happens in sessions, and in runs of workflows. */
export type ExpectEventsAnyEvent = ObservedEvent | RunEvent;

/** What must be there; what is not named may be anything. Lists count as a whole. */
type ExpectEventsPart<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: ExpectEventsPart<T[Key]> }
    : T;

/** A type of event, some of its members, or a test of one's own. */
export type EventPattern<Event extends ExpectEventsAnyEvent = ObservedEvent> =
  | Event['type']
  | {
      [Type in Event['type']]: { readonly type: Type } & ExpectEventsPart<Extract<Event, { type: Type }>>;
    }[Event['type']]
  | ((event: Event) => boolean);

function matches<Event extends ExpectEventsAnyEvent>(event: Event, pattern: EventPattern<Event>): boolean {
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

function showPattern<Event extends ExpectEventsAnyEvent>(pattern: EventPattern<Event>): string {
  if (typeof pattern === 'string') return pattern;
  if (typeof pattern === 'function') return clip(pattern.name || String(pattern).replaceAll(/\s+/g, ' '));
  const { type, ...rest } = pattern;
  return clip(`${type} ${JSON.stringify(rest)}`);
}

/** Without what every event has. */
function showEvent(event: ExpectEventsAnyEvent): string {
  const { type, ...all } = event;
  const rest: Record<string, unknown> = { ...all };
  for (const key of ['seq', 'at', 'session', 'run', 'turn', 'cause']) delete rest[key];
  const seq = 'seq' in event ? `${event.seq}` : 'live';
  return clip(`${seq.padStart(4)} ${type} ${JSON.stringify(rest)}`);
}
