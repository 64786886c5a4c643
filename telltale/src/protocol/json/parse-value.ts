import type { Json } from '../../kernel/json.ts';
import { readObject, type Unreadable } from './read-object.ts';

export interface ParsedValue {
  readonly value: Json;
  readonly repaired: boolean;
}

/** A JSON value of any kind; strict first, then as models get it slightly wrong. */
export function parseValue(text: string): ParsedValue | Unreadable {
  // In an object, since that is what bounds its depth, and what the tolerant reading reads.
  const wrapped = `{"value":${text}}`;
  const strict = strictJson(wrapped);
  const read = readObject(wrapped, strict);
  if (typeof read === 'string') return read;
  const { value } = read;
  return value === undefined ? 'unreadable' : { value, repaired: strict === undefined };
}

/** What JSON.parse makes of a text; undefined where it throws. */
export function strictJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as a fault, or repaired
  }
}
