import type { Json } from '../../../../../telltale/src/lib/json.ts';

/** How many characters of a value a sentence shows. */
const ROOM = 60;

/** A value on one line, cut to fit: text without quotes, anything else as JSON. */
export function brief(value: Json, room = ROOM): string {
  if (value === null) return 'nothing';
  // Don't read megabytes of text for its first words.
  const text = typeof value === 'string' ? value.slice(0, room * 4) : jsonStart(value, room);
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > room ? `${line.slice(0, room - 1)}…` : line;
}

/** The same in quotation marks, for what somebody said. */
export const quoted = (text: string, room = ROOM): string => `“${brief(text, room)}”`;

/** How many values of a JSON document a sentence shows. */
const MAX_PARTS = 40;

function jsonStart(value: Json, room: number): string {
  let parts = 0;
  const text = JSON.stringify(value, (_, each: unknown) => {
    parts++;
    if (parts > MAX_PARTS) return undefined;
    return typeof each === 'string' && each.length > room * 2 ? `${each.slice(0, room * 2)}…` : each;
  });
  return text ?? '';
}
