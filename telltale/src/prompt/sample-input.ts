import { isJsonObject, type Json, type JsonObject } from '../kernel/json.ts';

const MAX_DEPTH = 4;
const MAX_ITEMS = 3;
const MAX_TEXT = 200;
const NOTES: readonly string[] = [
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
  'deprecated',
];
/** What a string could be, by what its name ends with. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/(^|_)(path|file)$/i, 'README.md'],
  [/(^|_)(url|uri)$/i, 'https://example.com'],
];
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'ana@example.com',
  uri: 'https://example.com',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

/**
 * The smallest input that a schema allows, with its required parameters alone; undefined where that is not certain. An
 * example with a mistake would teach it.
 */
export function sampleInput(schema: JsonObject): JsonObject | undefined {
  const value = sample({ ...schema, type: 'object' }, '', 0);
  return isJsonObject(value) ? value : undefined;
}

function sample(schema: Json | undefined, name: string, depth: number): Json | undefined {
  if (schema === true) return '…';
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined;
  const only = (...keywords: readonly string[]) =>
    Object.keys(schema).every((key) => key === 'type' || keywords.includes(key) || NOTES.includes(key));
  if (schema.const !== undefined)
    return only('const') && schema.type === undefined ? schema.const : undefined;
  if (Array.isArray(schema.enum)) {
    const [first] = schema.enum as readonly Json[];
    return only('enum') && (schema.type === undefined || typeof first === schema.type) ? first : undefined;
  }
  if (Array.isArray(schema.anyOf))
    return only('anyOf') && schema.type === undefined ? sample(schema.anyOf[0], name, depth + 1) : undefined;
  const type = Array.isArray(schema.type)
    ? (schema.type as readonly Json[]).find((each) => each !== 'null')
    : schema.type;
  switch (type) {
    case undefined:
      return only() ? '…' : undefined;
    case 'string':
      return only('minLength', 'maxLength', 'format') ? sampleText(schema, name) : undefined;
    case 'integer':
    case 'number':
      return only('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum')
        ? sampleNumber(schema, type === 'integer')
        : undefined;
    case 'boolean':
      return only() ? true : undefined;
    case 'array': {
      if (!only('items', 'minItems', 'maxItems')) return undefined;
      const count = typeof schema.minItems === 'number' ? schema.minItems : 0;
      if (count === 0) return [];
      const item = sample(schema.items ?? true, name, depth + 1);
      return item === undefined || count > MAX_ITEMS ? undefined : Array.from({ length: count }, () => item);
    }
    case 'object':
      return only('properties', 'required', 'additionalProperties') ? sampleObject(schema, depth) : undefined;
    default:
      return undefined;
  }
}

function sampleObject(
  { properties, required, additionalProperties }: JsonObject,
  depth: number,
): JsonObject | undefined {
  if (
    isJsonObject(additionalProperties) &&
    Array.isArray(required) &&
    required.length > 0 &&
    !isJsonObject(properties)
  )
    return undefined;
  const entries: [string, Json][] = [];
  for (const name of Array.isArray(required) ? (required as readonly Json[]) : []) {
    if (typeof name !== 'string') return undefined;
    const isKnown = isJsonObject(properties) && Object.hasOwn(properties, name);
    if (!isKnown) return undefined;
    const value = sample(properties[name], name, depth + 1);
    if (value === undefined) return undefined;
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function sampleText({ minLength, maxLength, format }: JsonObject, name: string): string | undefined {
  const least = typeof minLength === 'number' ? minLength : 0;
  const most = typeof maxLength === 'number' ? maxLength : MAX_TEXT;
  if (format !== undefined) {
    const text = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    return text !== undefined && text.length >= least && text.length <= most ? text : undefined;
  }
  const word = WORDS.find(([pattern]) => pattern.test(name))?.[1] ?? '…';
  const text = word.length > most ? '…' : word;
  if (least > Math.min(most, MAX_TEXT)) return undefined;
  return most === 0 ? '' : text.padEnd(least, '…');
}

function sampleNumber(schema: JsonObject, isWhole: boolean): number | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const fits = (value: number) =>
    (!isWhole || Number.isInteger(value)) &&
    (typeof minimum !== 'number' || value >= minimum) &&
    (typeof maximum !== 'number' || value <= maximum) &&
    (typeof exclusiveMinimum !== 'number' || value > exclusiveMinimum) &&
    (typeof exclusiveMaximum !== 'number' || value < exclusiveMaximum);
  const bounds = [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter(
    (bound) => typeof bound === 'number',
  );
  return [
    1,
    ...bounds,
    ...bounds.flatMap((bound) => [Math.ceil(bound), Math.floor(bound), bound + 1, bound - 1]),
  ].find(fits);
}
