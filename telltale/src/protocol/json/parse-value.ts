import type { Json } from '../../kernel/json.ts';
import { readObject } from './read-object.ts';

export interface ParsedValue {
  readonly value: Json;
  readonly repaired: boolean;
}

/** A JSON value of any kind; strict first, then as models get it slightly wrong. Undefined where neither can be read. */
export function parseValue(text: string): ParsedValue | undefined {
  // In an object, since that is what bounds its depth, and what the tolerant reading reads.
  const wrapped = `{"value":${text}}`;
  const strict = strictJson(wrapped);
  const value = readObject(wrapped, strict)?.value;
  return value === undefined ? undefined : { value, repaired: strict === undefined };
}

/** What JSON.parse makes of a text; undefined where it throws. */
export function strictJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // told as a fault, or repaired
  }
}
