import { asText } from '../../conditions/as-text.ts';
import type { Json } from '../../kernel/json.ts';

/**
 * Where in a JSON text its writer stands. What is put in there, the result of a tool perhaps, must become part of one
 * value: whatever it holds, it ends no string and adds no key.
 */
export interface JsonPlace {
  /** Whether the text began as JSON does, or in a fence; undefined before its first character. */
  isJson: boolean | undefined;
  inString: boolean;
  isEscaped: boolean;
}

export const beforeJson = (): JsonPlace => ({ isJson: undefined, inString: false, isEscaped: false });

const FIRST = '{["`';

/** Reads on in what the model wrote. */
export function readOn(place: JsonPlace, text: string): void {
  if (place.isJson === undefined) {
    const first = /\S/.exec(text)?.[0];
    if (first === undefined) return;
    place.isJson = FIRST.includes(first);
  }
  if (!place.isJson) return;
  for (const char of text) {
    if (place.isEscaped) place.isEscaped = false;
    else if (char === '"') place.inString = !place.inString;
    else place.isEscaped = place.inString && char === '\\';
  }
}

/** A value as it stands there: in a string its text, escaped; elsewhere a value of its own. */
export function fitted(place: JsonPlace, value: Json): string {
  const text = asText(value);
  place.isJson ??= false; // a value alone is what it is
  if (!place.isJson) return text;
  if (place.inString) return JSON.stringify(text).slice(1, -1);
  return typeof value !== 'string' || isOneValue(text) ? text : JSON.stringify(text);
}

/** What a command prints is text, and may be JSON for all that. */
function isOneValue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
