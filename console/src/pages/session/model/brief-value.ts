import type { Json } from '../../../../../telltale/src/lib/json.ts';

/** Characters of a value that are told in a sentence. */
const ROOM = 60;

/** A value on one line and cut: texts bare, everything else as JSON. */
export function brief(value: Json, room = ROOM): string {
  if (value === null) return 'nothing';
  // A text of megabytes is not read whole for the sake of its first words.
  const text = typeof value === 'string' ? value.slice(0, room * 4) : jsonStart(value, room);
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > room ? `${line.slice(0, room - 1)}…` : line;
}

/** The same in quotation marks, for what somebody said. */
export const quoted = (text: string, room = ROOM): string => `“${brief(text, room)}”`;

/** Values that a JSON is made of, in a sentence, at the most. */
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
