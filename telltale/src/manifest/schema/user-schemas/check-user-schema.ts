import type { ErrorObject } from 'ajv/dist/2020.js';
import { err, ok, type Result } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { suggest } from '../../../lib/nearest.ts';
import { isMap } from '../plain-values.ts';
import { clip, showValue } from '../show-value.ts';
import { compile, metaSchema } from './ajv.ts';
import { badSchema, isFatal, type SchemaFinding } from './schema-finding.ts';
import { everySchema, IN_PLACE_KEYWORDS, referenceResolver, walkUserSchema } from './walk-user-schema.ts';

/**
 * Finds everything wrong with a user's JSON Schema. Ajv generates code and follows references, so size, depth, patterns
 * and the targets of references are checked first.
 */
export function checkUserSchema(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const findings = checkWithoutCompiling(schema);
  if (isFatal(findings) || isPlainSchema(schema)) return findings;
  const compiled = compiledOrNot(schema);
  return compiled.ok ? findings : [...findings, compiled.error];
}

/** The same without the problems that only show when ajv compiles the schema, which takes much longer than the rest. */
export function checkWithoutCompiling(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const findings = walkUserSchema(schema);
  if (isFatal(findings) || isPlainSchema(schema)) return findings;
  const meta = metaSchema();
  if (!meta.validateSchema(schema as JsonObject))
    return [...findings, ...metaFindings(schema, meta.errors ?? [])];
  const expansion = checkExpansion(schema);
  return [...findings, ...expansion];
}

function compiledOrNot(
  schema: Readonly<Record<string, unknown>>,
): Result<ReturnType<typeof compile>, SchemaFinding> {
  try {
    return ok(compile(schema as JsonObject));
  } catch (thrown) {
    if (thrown instanceof RangeError)
      return err(badSchema([], TOO_LONG_CHAIN, 'Use fewer nested references.'));
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return err(badSchema([], `This JSON Schema cannot be used: ${clip(why, 200)}.`));
  }
}

const TOO_LONG_CHAIN = 'The references of this JSON Schema are nested too deep.';

/** Explains why a value does not satisfy the schema. Undefined if it does. */
export type SchemaViolation = (value: Json) => string | undefined;

/** Compiles a user's JSON Schema for any number of values, or returns what is wrong with it. */
export function compileUserSchema(
  schema: Readonly<Record<string, unknown>>,
): Result<SchemaViolation, readonly SchemaFinding[]> {
  const findings = checkUserSchema(schema);
  if (isFatal(findings)) return err(findings);
  const compiled = compiledOrNot(schema);
  if (!compiled.ok) return err([...findings, compiled.error]);
  const validate = compiled.value;
  return ok((value) => {
    const [first] = validate(value);
    if (first === undefined) return undefined;
    return `${first.instancePath === '' ? 'it' : first.instancePath} ${first.message ?? 'does not satisfy the schema'}`;
  });
}

/**
 * How often one value may be checked again: two references to a part with two references, and so on, double each time.
 */
const MAX_EXPANSION = 10_000;

/**
 * References that return to the same schema without going deeper into the value would never end, and references that
 * fan out would take forever. Counting finds both without following a value.
 */
function checkExpansion(root: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const resolve = referenceResolver(root);
  const weights = new Map<unknown, number>();
  const open = new Set<unknown>();
  let cycle = false;

  const weigh = (schema: unknown): number => {
    if (!isMap(schema)) return 1;
    const known = weights.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) {
      cycle = true;
      return 1;
    }
    open.add(schema);
    let weight = 1;
    for (const inner of inPlace(schema, resolve)) weight += weigh(inner);
    open.delete(schema);
    weights.set(schema, weight);
    return weight;
  };

  for (const schema of everySchema(root)) {
    const weight = weigh(schema);
    if (cycle)
      return [
        badSchema(
          [],
          'A reference in this JSON Schema leads back to itself endlessly.',
          'Put a property or an item between the two.',
        ),
      ];
    if (weight > MAX_EXPANSION)
      return [
        badSchema(
          [],
          `This JSON Schema would check one value more than ${MAX_EXPANSION} times.`,
          'Its references multiply. Refer to each part once.',
        ),
      ];
  }
  return [];
}

/** The schemas that check the same value as `schema`. */
function inPlace(
  schema: Readonly<Record<string, unknown>>,
  resolve: (reference: string) => unknown,
): readonly unknown[] {
  const own = Object.entries(schema).flatMap(([key, value]) => (IN_PLACE_KEYWORDS.has(key) ? value : []));
  const dependent = isMap(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : [];
  const referred = typeof schema.$ref === 'string' ? [resolve(schema.$ref)] : [];
  return [...own, ...dependent, ...referred];
}

type Judge = (value: unknown) => boolean;

/**
 * Whether a schema that passed `walkUserSchema` is certainly valid: common keywords with values of the right type. Most
 * tools' schemas are, and then neither ajv nor its meta-schema is needed, which take 30 ms and 45 ms to load. A
 * property test compares the results.
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

/**
 * The errors of the meta-schema, one per position and only the deepest, because all of its branches complain at once.
 */
function metaFindings(
  schema: Readonly<Record<string, unknown>>,
  errors: readonly ErrorObject[],
): readonly SchemaFinding[] {
  const byPointer = new Map<string, ErrorObject[]>();
  for (const error of errors) {
    const at = byPointer.get(error.instancePath);
    if (at === undefined) byPointer.set(error.instancePath, [error]);
    else at.push(error);
  }
  const inner = new Set([...byPointer.keys()].flatMap(pointersAbove));
  return [...byPointer]
    .filter(([pointer]) => !inner.has(pointer))
    .map(([pointer, at]) => placeFinding(pointer, at, schema));
}

function pointersAbove(pointer: string): readonly string[] {
  const parts = pointer.split('/');
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function placeFinding(
  pointer: string,
  errors: readonly ErrorObject[],
  schema: Readonly<Record<string, unknown>>,
): SchemaFinding {
  const path = pointerPath(pointer, schema);
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<string | number, unknown> | undefined)?.[key],
    schema,
  );
  const key = path.findLast((part) => typeof part === 'string') ?? 'schema';
  const why = [...new Set(errors.map((error) => error.message ?? error.keyword))].slice(0, 2).join('; ');
  const hint =
    key === 'required' && typeof value === 'boolean'
      ? 'Write "required: [names]" next to "properties", in the object that contains this one.'
      : (nearestAllowed(value, errors) ?? schemaExpected(value, errors) ?? `In JSON Schema "${key}" ${why}.`);
  return {
    code: 'bad_schema',
    message: `"${key}" cannot be ${showValue(value)} in a JSON Schema.`,
    hint,
    path,
  };
}

/** For a text where the meta-schema allows a list of texts: `type: strng`. */
function nearestAllowed(value: unknown, errors: readonly ErrorObject[]): string | undefined {
  const allowed: unknown = errors.find((error) => error.keyword === 'enum')?.params.allowedValues;
  if (typeof value !== 'string' || !Array.isArray(allowed)) return undefined;
  return suggest(value, allowed.map(String));
}

const SCHEMA_TYPES: readonly unknown[] = [
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
];

/** For another value in place of a schema: `name: string`. */
function schemaExpected(value: unknown, errors: readonly ErrorObject[]): string | undefined {
  const isSchema = errors.some(
    ({ keyword, params }) => keyword === 'type' && String(params.type) === 'object,boolean',
  );
  if (!isSchema) return undefined;
  return SCHEMA_TYPES.includes(value)
    ? `Write { type: ${value} }.`
    : 'Write a JSON Schema: a map, or true or false.';
}

/** Converts a JSON pointer to a path, with list indices as numbers. */
function pointerPath(pointer: string, root: unknown): (string | number)[] {
  const path: (string | number)[] = [];
  let at = root;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const key = Array.isArray(at) ? Number(name) : name;
    path.push(key);
    at = (at as Record<string | number, unknown> | null | undefined)?.[key];
  }
  return path;
}
