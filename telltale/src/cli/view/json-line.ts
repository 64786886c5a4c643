import type { ObservedEvent } from '../../events/event.ts';
import type { RunEvent } from '../../events/run-event.ts';

/** What JSON leaves as it is and a terminal may obey: C1 controls, direction marks, and the like. */
const STEERING = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A value as JSON that is the same to a parser and harmless to a terminal, with the line's end. */
export const jsonText = (value: unknown, indent = 0): string =>
  `${JSON.stringify(value, null, indent).replace(STEERING, escaped)}\n`;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The same on one line, without a line end. */
export const harmlessJson = (value: unknown): string => JSON.stringify(value).replace(STEERING, escaped);

/** An event as one line of JSON: its place first, then what happened, then why. */
export function eventJson(event: ObservedEvent | RunEvent): string {
  if (!('session' in event)) {
    const { seq, at, run, type, cause, ...body } = event;
    return jsonText({ seq, at, run, type, ...body, cause });
  }
  if (!('seq' in event)) {
    const { session, turn, type, ...body } = event;
    return jsonText({ session, turn, type, ...body });
  }
  const { seq, at, session, turn, type, cause, ...body } = event;
  return jsonText({ seq, at, session, turn, type, ...body, cause });
}
