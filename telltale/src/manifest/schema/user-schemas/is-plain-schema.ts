import { isMap } from '../is-map.ts';

type Judge = (value: unknown) => boolean;

/**
 * Whether a schema that `walkUserSchema` let pass is sound beyond doubt: common keywords, each with a value of its kind.
 * Most schemas of tools are, and need neither ajv nor its meta-schema, which take 30 and 45 ms to load and compile. A
 * property test holds it against both.
 */
export function isPlainSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isMap(schema)) return false;
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('x-')) continue;
    if (KINDS.get(key)?.(value) !== true) return false;
  }
  return true;
}

const TYPES: ReadonlySet<unknown> = new Set('array boolean integer null number object string'.split(' '));

const isText: Judge = (value) => typeof value === 'string';
const isFlag: Judge = (value) => typeof value === 'boolean';
const isNumber: Judge = (value) => Number.isFinite(value);
const isCount: Judge = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isAnything: Judge = () => true;
const isType: Judge = (value) => TYPES.has(value);

const isListOf =
  (judge: Judge, least: number): Judge =>
  (value) =>
    Array.isArray(value) && value.length >= least && value.every(judge);

const isSetOf = (judge: Judge, least: number): Judge => {
  const isList = isListOf(judge, least);
  return (value) => isList(value) && new Set(value as unknown[]).size === (value as unknown[]).length;
};

const isSchemas = isListOf((part) => isPlainSchema(part), 1);

const isNamed: Judge = (value) =>
  isMap(value) && !Object.hasOwn(value, '__proto__') && Object.values(value).every(isPlainSchema);

const KINDS: ReadonlyMap<string, Judge> = new Map(
  Object.entries({
    title: isText,
    description: isText,
    $comment: isText,
    format: isText,
    deprecated: isFlag,
    readOnly: isFlag,
    writeOnly: isFlag,
    uniqueItems: isFlag,
    default: isAnything,
    const: isAnything,
    examples: isListOf(isAnything, 0),
    type: (value) => isType(value) || isSetOf(isType, 1)(value),
    enum: isListOf(isAnything, 1),
    properties: isNamed,
    required: isSetOf(isText, 0),
    items: isPlainSchema,
    additionalProperties: isPlainSchema,
    allOf: isSchemas,
    anyOf: isSchemas,
    oneOf: isSchemas,
    minimum: isNumber,
    maximum: isNumber,
    exclusiveMinimum: isNumber,
    exclusiveMaximum: isNumber,
    multipleOf: (value) => isNumber(value) && (value as number) > 0,
    minLength: isCount,
    maxLength: isCount,
    minItems: isCount,
    maxItems: isCount,
    minProperties: isCount,
    maxProperties: isCount,
  } satisfies Record<string, Judge>),
);
