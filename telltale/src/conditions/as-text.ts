import type { Json } from '../kernel/json.ts';

/** A value inside a longer string: strings as they are, anything else as compact JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
