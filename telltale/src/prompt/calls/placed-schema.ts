import type { Json, JsonObject } from '../../kernel/json.ts';

const MAX_DEPTH = 64;

/**
 * A JSON Schema that stands inside another one, at `place`: what refers to its own root (`#/$defs/item`) refers to
 * there.
 */
export function placedSchema(schema: JsonObject, place: string): JsonObject {
  return moved(schema, place, 0) as JsonObject;
}

function moved(value: Json, place: string, depth: number): Json {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => moved(item, place, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' && member.startsWith('#')
        ? place + member.slice(1)
        : moved(member, place, depth + 1),
    ]),
  );
}
