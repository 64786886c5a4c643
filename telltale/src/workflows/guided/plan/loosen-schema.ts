import type { Json, JsonObject } from '../../../kernel/json.ts';
import { isMap } from '../../../manifest/schema/is-map.ts';
import { holdsReference, referenceIn } from './result-references.ts';

/** What can be said of an object or a list while some of its parts are not known. */
const KEPT = [
  'type',
  'required',
  'dependentRequired',
  'minProperties',
  'maxProperties',
  'minItems',
  'maxItems',
] as const;

/**
 * A schema that asks of `value` only what can be judged before its references are resolved: a whole reference may
 * become anything, a text with one in it stays a text.
 */
export const loosenSchema = (schema: JsonObject, value: JsonObject): JsonObject => ({
  ...(isMap(schema.$defs) ? { $defs: schema.$defs as Json } : {}),
  ...(isMap(schema.definitions) ? { definitions: schema.definitions as Json } : {}),
  ...(loosened(schema, value) as JsonObject),
});

function loosened(schema: Json | undefined, value: Json): Json {
  if (!isMap(schema)) return schema ?? {};
  if (!holdsReference(value)) return schema as Json;
  if (typeof value === 'string') return referenceIn(value) === 'whole' ? {} : only(schema, ['type']);
  return Array.isArray(value) ? looseList(schema, value) : looseObject(schema, value as JsonObject);
}

function looseObject(schema: Readonly<Record<string, unknown>>, value: JsonObject): JsonObject {
  const known = isMap(schema.properties) ? schema.properties : {};
  const isClosed = schema.additionalProperties === false && schema.patternProperties === undefined;
  return {
    ...only(schema, KEPT),
    ...(isClosed ? { additionalProperties: false } : {}),
    properties: Object.fromEntries(
      Object.entries(known).map(([key, inner]) => [
        key,
        Object.hasOwn(value, key) ? loosened(inner as Json, value[key] ?? null) : (inner as Json),
      ]),
    ),
  };
}

function looseList(schema: Readonly<Record<string, unknown>>, value: readonly Json[]): JsonObject {
  const first = Array.isArray(schema.prefixItems) ? (schema.prefixItems as readonly Json[]) : [];
  return {
    ...only(schema, KEPT),
    prefixItems: value.map((item, index) => loosened(first[index] ?? (schema.items as Json), item)),
  };
}

const only = (schema: Readonly<Record<string, unknown>>, keys: readonly string[]): JsonObject =>
  Object.fromEntries(
    keys.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key] as Json]),
  );
