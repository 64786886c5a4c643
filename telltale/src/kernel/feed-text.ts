import type { Json } from './json.ts';

/** A feed's value as a model reads it: text as it is, anything else as JSON with lines that it can be cut at. */
export const feedText = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2);
