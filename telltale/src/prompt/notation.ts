import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

/** How the notation reads, for the model. */
export const NOTATION =
  'Parameters are in braces. "?" marks optional ones; those without a type are strings.';

const MAX_DEPTH = 4;
const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

/** A target as the prompt lists it: name, parameters and what it does, on a line; below it its operations, if it has any. */
export function targetLines(target: DescribedTarget, name = target.name): string {
  const { description, parameters, operations, byDefault } = target;
  const told = oneLine(description);
  const head = `- ${JSON.stringify(name)}`;
  if (operations === undefined) {
    const noted = parameterNotes(parameters);
    return `${head} ${noted}${told === '' ? '' : `: ${told}`}`;
  }
  const known = new Map<string, string>();
  const common = commonOf(operations);
  const lines = Object.entries(operations).map(([operation, each]) => {
    const noted = operationNotes(each, common, known);
    const isDefault = operation === byDefault ? ' (default)' : '';
    const about = oneLine(each.description);
    return `  - ${operation}${noted === '{}' ? '' : ` ${noted}`}${isDefault}${about === '' ? '' : `: ${about}`}`;
  });
  const shared = common.length === 0 ? '' : `, and each takes ${membersOf(all(operations), common, [])}`;
  return [`${head}: ${sentence(told)} "operation" is one of these${shared}:`, ...lines].join('\n');
}

const all = (operations: Readonly<Record<string, DescribedOperation>>): JsonObject =>
  Object.assign({}, ...Object.values(operations).map(({ parameters }) => parameters)) as JsonObject;

/** Parameters that every operation takes and none requires. */
function commonOf(operations: Readonly<Record<string, DescribedOperation>>): readonly string[] {
  const [first, ...others] = Object.values(operations);
  if (first === undefined || others.length < 2) return [];
  return Object.keys(first.parameters).filter((key) =>
    [first, ...others].every(
      ({ parameters, required = [] }) => Object.hasOwn(parameters, key) && !required.includes(key),
    ),
  );
}

/** The type and description of a parameter are told once, where an operation first takes it. */
function operationNotes(
  { parameters, required = [] }: DescribedOperation,
  common: readonly string[],
  known: Map<string, string>,
): string {
  const names = Object.keys(parameters).filter((name) => !common.includes(name));
  const noted = names.map((name) => {
    const mark = `${name}${required.includes(name) ? '' : '?'}`;
    const notes = valueNotes(parameters[name] ?? {}, 0);
    if (known.get(name) === notes) return mark;
    known.set(name, notes);
    return mark + notes;
  });
  return `{${noted.join(', ')}}`;
}

/** The parameters of a schema in braces; what the notation cannot say follows as JSON Schema. */
function parameterNotes(schema: JsonObject): string {
  const short = shortSchema(schema);
  const { type: _, properties, required, description: __, ...rest } = short;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  if (rest.$ref !== undefined || rest.$defs !== undefined || rest.definitions !== undefined)
    return `(JSON Schema) ${JSON.stringify(short)}`;
  const open = names.length === 0 && schema.additionalProperties !== false ? 'any JSON object' : undefined;
  const noted = open ?? `{${membersOf(isJsonObject(properties) ? properties : {}, names, listOf(required))}}`;
  return Object.keys(rest).length === 0 ? noted : `${noted} with ${JSON.stringify(rest)}`;
}

const listOf = (required: Json | undefined): readonly Json[] => (Array.isArray(required) ? required : []);

const membersOf = (
  properties: JsonObject,
  names: readonly string[],
  required: readonly Json[],
  depth = 0,
): string =>
  names
    .map((name) => {
      const key = PLAIN_KEY.test(name) ? name : JSON.stringify(name);
      const value = properties[name];
      return `${key}${required.includes(name) ? '' : '?'}${valueNotes(value ?? true, depth)}`;
    })
    .join(', ');

/** `: type (description)`; a plain string needs no type. */
function valueNotes(value: Json, depth: number): string {
  const schema = isJsonObject(value) ? shortSchema(value) : {};
  const { description, default: byDefault, ...rest } = schema;
  const type = typeNotes(rest, depth) ?? JSON.stringify(rest);
  const about = typeof description === 'string' ? oneLine(description).replace(/(?<!\.\.)\.$/, '') : '';
  const start =
    byDefault === undefined || /\bdefault\b/i.test(about) ? '' : `default ${JSON.stringify(byDefault)}`;
  const told = [about, start].filter((part) => part !== '').join('; ');
  return `${type === 'string' ? '' : `: ${type}`}${told === '' ? '' : ` (${told})`}`;
}

/** A type in short; undefined where only JSON Schema says it exactly. */
function typeNotes(schema: JsonObject, depth: number): string | undefined {
  const { type, ...rest } = schema;
  const keys = Object.keys(rest);
  if (keys.length === 0 && type === undefined) return 'any';
  if (depth > MAX_DEPTH) return undefined;
  const only = (...names: readonly string[]) => keys.every((key) => names.includes(key));
  if (Array.isArray(rest.enum) && only('enum'))
    return rest.enum.map((each: Json) => JSON.stringify(each)).join(' | ');
  if (rest.const !== undefined && only('const')) return JSON.stringify(rest.const);
  const union = rest.anyOf ?? rest.oneOf;
  if (type === undefined && Array.isArray(union) && keys.length === 1) return unionNotes(union, depth);
  if (Array.isArray(type)) return only() ? type.join(' | ') : undefined;
  switch (type) {
    case 'string':
      if (!only('minLength', 'maxLength', 'format')) return undefined;
      return [
        typeof rest.format === 'string' ? rest.format : 'string',
        range(rest.minLength, rest.maxLength, ' characters'),
      ].join('');
    case 'integer':
    case 'number':
      return only('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum')
        ? `${type}${numberRange(rest)}`
        : undefined;
    case 'boolean':
    case 'null':
      return only() ? type : undefined;
    case 'array': {
      if (!only('items', 'minItems', 'maxItems')) return undefined;
      const items = isJsonObject(rest.items) ? itemNotes(rest.items, depth + 1) : 'any';
      return items === undefined ? undefined : `${items}[]${range(rest.minItems, rest.maxItems, ' items')}`;
    }
    case 'object': {
      if (!only('properties', 'required')) return undefined;
      if (!isJsonObject(rest.properties)) return 'object';
      const names = Object.keys(rest.properties);
      return `{${membersOf(rest.properties, names, listOf(rest.required), depth + 1)}}`;
    }
    default:
      return undefined;
  }
}

function itemNotes(schema: JsonObject, depth: number): string | undefined {
  const { description: _, ...rest } = schema;
  const noted = typeNotes(rest, depth);
  return noted?.includes(' ') === true && !noted.startsWith('{') ? `(${noted})` : noted;
}

function unionNotes(union: readonly Json[], depth: number): string | undefined {
  const noted = union.map((each) => (isJsonObject(each) ? itemNotes(each, depth + 1) : undefined));
  return noted.includes(undefined) ? undefined : noted.join(' | ');
}

/** Without the bounds that nobody would pass. */
function numberRange({
  minimum,
  maximum,
  exclusiveMinimum: above,
  exclusiveMaximum: below,
}: JsonObject): string {
  const least = minimum === 0 || minimum === 1 ? undefined : minimum;
  const more = above === undefined || above === 0 ? '' : ` > ${above}`;
  return `${range(least, maximum, '')}${more}${below === undefined ? '' : ` < ${below}`}`;
}

function range(min: Json | undefined, max: Json | undefined, unit: string): string {
  if (min !== undefined && max !== undefined) return ` ${min}–${max}${unit}`;
  if (min !== undefined) return ` ≥ ${min}${unit}`;
  return max === undefined ? '' : ` ≤ ${max}${unit}`;
}

export const sentence = (text: string) => text.replace(/[^.!?…]$/, '$&.');
export const oneLine = (text: string) => text.trim().replaceAll(/\s*\n\s*/g, ' ');

/** Something an action can call, as the model is told of it. */
export interface DescribedTarget {
  readonly kind: string;
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: JsonObject;
  /** Where a parameter "operation" chooses what it does: what each operation takes. */
  readonly operations?: Readonly<Record<string, DescribedOperation>> | undefined;
  /** The operation of a call that names none. */
  readonly byDefault?: string | undefined;
  /** A call that only reads, what it could return, and what to make of that. */
  readonly example?:
    | { readonly input: JsonObject; readonly output: Json; readonly answer: string }
    | undefined;
  /** Whether a call may be repeated: such a call is a better example. */
  readonly idempotent?: boolean;
  /** Set where calls may need a person's approval. */
  readonly needs?: unknown;
  /** What a native call names it. */
  readonly native?: string | undefined;
}

export interface DescribedOperation {
  /** Empty where the name and the parameters say it all. */
  readonly description: string;
  /** JSON Schemas by name. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
  readonly idempotent?: boolean | ((input: JsonObject) => boolean);
}

/** All that can be called natively, in the order in which it gets its names. */
export const allTargets = (
  targets: readonly DescribedTarget[],
  internalActions: readonly Omit<DescribedTarget, 'kind'>[],
): readonly DescribedTarget[] => [
  ...targets,
  ...internalActions.map((action) => ({ ...action, kind: 'internal' })),
];

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
const MAX_SCHEMA_DEPTH = 64;

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
  if (DATA.has(key) || depth > MAX_SCHEMA_DEPTH || typeof value !== 'object' || value === null) return value;
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
