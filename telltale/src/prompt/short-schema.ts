import type { Json, JsonObject } from '../kernel/json.ts';

/** Keywords that a model learns nothing from. */
const DROPPED: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  'readOnly',
  'writeOnly',
  'deprecated',
]);
/** What is under these is schemas by name, and no keyword. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** What is under these is data. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required']);
const MAX_DEPTH = 64;

/** A JSON Schema without what only costs tokens. Calls are still checked against the whole of it. */
export const shortSchema = (schema: JsonObject): JsonObject => shortened(schema, 0);

function shortened(schema: JsonObject, depth: number): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
    if (DROPPED.has(key) || isNeedless(key, value, schema)) return [];
    return [[key, inside(key, value, depth)]];
  });
  return Object.fromEntries(entries);
}

function inside(key: string, value: Json, depth: number): Json {
  if (DATA.has(key) || depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => inside('', each, depth + 1));
  const schema = value as JsonObject;
  if (!SCHEMA_MAPS.has(key)) return shortened(schema, depth + 1);
  return Object.fromEntries(
    Object.entries(schema).map(([name, each]) => [name, inside('', each, depth + 1)]),
  );
}

/** What says no more than its absence does, or what only programs write. */
function isNeedless(key: string, value: Json, { type }: JsonObject): boolean {
  switch (key) {
    case 'additionalProperties':
      return typeof value === 'boolean';
    case 'title':
      return typeof value === 'string';
    case 'description':
      return value === '';
    case 'required':
      return Array.isArray(value) && value.length === 0;
    case 'default':
      return (
        value === null || value === false || value === '' || (typeof value === 'object' && isEmpty(value))
      );
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return value === 0 || (key === 'minLength' && value === 1);
    case 'minimum':
      // Nobody writes a count or a line below it.
      return value === Number.MIN_SAFE_INTEGER || (type === 'integer' && (value === 0 || value === 1));
    case 'maximum':
      return value === Number.MAX_SAFE_INTEGER;
    default:
      return false;
  }
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
