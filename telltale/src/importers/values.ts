import type { Json, JsonObject } from '../lib/json.ts';
import { isMap } from '../manifest/schema/plain-values.ts';

/** Text that means nothing but itself in a manifest: `${` stays, whatever stands in it. */
export const literal = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);

/** `${NAME}` as an environment variable that may be unset. */
export const environmentText = (text: string): string => text.replace(/\$\{(\w+)\}/g, '${$1:-}');

/** A value with each text in it changed. */
export function mapTexts(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each: Json) => mapTexts(each, change));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, mapTexts(each as Json, change)]),
  );
}

/** Text that is not empty, or a number as text. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

export const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value as Json];

export const mapOf = (value: unknown): JsonObject => (isMap(value) ? (value as JsonObject) : {});

/** Several texts as paragraphs of one; undefined if there is none. */
export function paragraphs(...texts: readonly (string | undefined)[]): string | undefined {
  const given = texts.flatMap((text) => (text === undefined || text.trim() === '' ? [] : [text.trim()]));
  return given.length === 0 ? undefined : [...new Set(given)].join('\n\n');
}

/** A map without the keys that have no value, an empty list or an empty map. */
export function given(values: Readonly<Record<string, Json | undefined>>): JsonObject {
  const isThere = (value: Json | undefined) =>
    value !== undefined && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => isThere(value))) as JsonObject;
}
