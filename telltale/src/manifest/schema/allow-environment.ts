import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from './is-map.ts';

const NAME = 'EnvironmentVariable';

const REFERENCE: JsonObject = {
  type: 'string',
  pattern: '\\$\\{\\s*[A-Za-z_][A-Za-z0-9_]*\\s*(:-[^}]*)?\\}',
  description: 'An environment variable, put in when the file is loaded: ${NAME} or ${NAME:-default}.',
};

/** Data, tests of what is written, and keys: no value of a manifest is judged by what these hold. */
const OTHERS: ReadonlySet<string> = new Set([
  'const',
  'default',
  'enum',
  'if',
  'not',
  'propertyNames',
  'required',
]);

/**
 * The schema of a manifest as it stands in an editor: where a checked manifest has a number, a switch, a word of a list
 * or a text of a certain form, the file may have `${NAME}`. Words that say what their map is (`kind`, `type`) stay as
 * they are.
 */
export function allowEnvironment(schema: JsonObject): JsonObject {
  const { $defs } = schema;
  return {
    ...walk(schema),
    $defs: { ...(isMap($defs) ? walk($defs as JsonObject) : {}), [NAME]: REFERENCE },
  };
}

function walk(at: JsonObject): JsonObject {
  const inner = Object.fromEntries(
    Object.entries(at).map(([key, value]) => [key, OTHERS.has(key) ? value : walkAny(value)]),
  );
  if (!isFormed(at)) return inner;
  const { description, default: fallback, ...formed } = inner;
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    anyOf: [formed, { $ref: `#/$defs/${NAME}` }],
  };
}

function walkAny(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map((item) => walkAny(item as Json));
  return isMap(value) ? walk(value as JsonObject) : (value ?? null);
}

/** Of a form that no reference has. */
const isFormed = ({ type, enum: words, pattern }: JsonObject): boolean =>
  type === 'number' ||
  type === 'integer' ||
  type === 'boolean' ||
  (type === 'string' && (words !== undefined || pattern !== undefined));
