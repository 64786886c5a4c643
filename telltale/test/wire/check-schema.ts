import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Bag, isBag, type Problems } from './problems.ts';

/** What a provider takes as the schema of a tool's input. */
export interface SchemaRules {
  /** Keywords that are refused at the root. */
  readonly refusedAtRoot: readonly string[];
  /** All keywords that are taken; undefined: those of JSON Schema. */
  readonly keywords?: ReadonlySet<string>;
  readonly arraysNeedItems: boolean;
  readonly rootNeedsProperties: boolean;
  /** `$ref` to `$defs` of the same schema. */
  readonly refs: boolean;
  /** Names of properties. */
  readonly propertyName?: RegExp;
  readonly maxDepth?: number;
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'];

/** https://platform.openai.com/docs/guides/function-calling, tools that are not strict. */
export const OPENAI_SCHEMA: SchemaRules = {
  refusedAtRoot: [...UNIONS, 'enum', 'not'],
  arraysNeedItems: true,
  rootNeedsProperties: true,
  refs: true,
};

/** https://docs.anthropic.com/en/api/messages: JSON Schema draft 2020-12 with an object at its root. */
export const ANTHROPIC_SCHEMA: SchemaRules = {
  refusedAtRoot: UNIONS,
  arraysNeedItems: false,
  rootNeedsProperties: false,
  refs: true,
  propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
};

/** https://ai.google.dev/api/caching#FunctionDeclaration: the part of JSON Schema that `parametersJsonSchema` takes. */
export const GOOGLE_JSON_SCHEMA: SchemaRules = {
  refusedAtRoot: [...UNIONS, 'enum'],
  keywords: new Set([
    'type',
    'format',
    'title',
    'description',
    'enum',
    'items',
    'prefixItems',
    'minItems',
    'maxItems',
    'minimum',
    'maximum',
    'anyOf',
    'oneOf',
    'properties',
    'additionalProperties',
    'required',
    'propertyOrdering',
  ]),
  arraysNeedItems: true,
  rootNeedsProperties: true,
  refs: false,
};

/** https://ai.google.dev/api/caching#Schema: the part of OpenAPI that `parameters` takes. */
export const GOOGLE_OPENAPI_SCHEMA: SchemaRules = {
  ...GOOGLE_JSON_SCHEMA,
  keywords: new Set([
    'type',
    'format',
    'title',
    'description',
    'nullable',
    'enum',
    'items',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'minLength',
    'maxLength',
    'pattern',
    'example',
    'anyOf',
    'properties',
    'propertyOrdering',
    'required',
    'default',
    'minimum',
    'maximum',
  ]),
};

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

export function checkSchema(schema: unknown, rules: SchemaRules, path: string, problems: Problems): void {
  const root = problems.object(schema, path);
  if (!isBag(schema)) return;
  if (rules.keywords?.has('nullable') !== true && ajv.validateSchema(schema) !== true)
    for (const { instancePath, message } of ajv.errors ?? [])
      problems.add(`${path}${instancePath}`, `not a valid JSON Schema (draft 2020-12): ${message}`);
  if (root.type !== 'object') problems.add(path, 'the root must have type "object"');
  for (const key of rules.refusedAtRoot)
    if (root[key] !== undefined) problems.add(path, `"${key}" is not taken at the root`);
  if (rules.rootNeedsProperties && !isBag(root.properties))
    problems.add(path, 'object schema missing properties');
  walk(root, { root, rules, problems }, path, 0);
}

interface Walk {
  readonly root: Bag;
  readonly rules: SchemaRules;
  readonly problems: Problems;
}

/** Nobody writes schemas of this depth; what goes deeper goes round in a circle. */
const MAX_DEPTH = 100;

function walk(schema: unknown, at: Walk, path: string, depth: number): void {
  const { rules, problems } = at;
  if (typeof schema === 'boolean') {
    if (rules.keywords !== undefined) problems.add(path, 'a schema must be an object, not true or false');
    return;
  }
  if (!isBag(schema) || depth > MAX_DEPTH) {
    problems.add(path, 'not a schema');
    return;
  }
  const { keywords } = rules;
  if (keywords !== undefined)
    for (const key of Object.keys(schema))
      if (!keywords.has(key)) problems.add(path, `unknown keyword "${key}"`);
  checkType(schema, at, path);
  checkRef(schema, at, path);
  for (const key of ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']) {
    const inner = schema[key];
    if (!isBag(inner)) continue;
    for (const [name, each] of Object.entries(inner)) {
      if (key === 'properties' && rules.propertyName?.test(name) === false)
        problems.add(
          path,
          `property keys should match pattern ${rules.propertyName.source}: "${name.slice(0, 80)}"`,
        );
      walk(each, at, `${path}.${key}.${name}`, depth + 1);
    }
  }
  for (const key of [
    'items',
    'not',
    'if',
    'then',
    'else',
    'contains',
    'propertyNames',
    'additionalProperties',
  ])
    if (schema[key] !== undefined && !(key === 'additionalProperties' && typeof schema[key] === 'boolean'))
      walk(schema[key], at, `${path}.${key}`, depth + 1);
  for (const key of [...UNIONS, 'prefixItems']) {
    const inner = schema[key];
    if (Array.isArray(inner))
      for (const [index, each] of inner.entries()) walk(each, at, `${path}.${key}[${index}]`, depth + 1);
  }
}

function checkType(schema: Bag, { rules, problems }: Walk, path: string): void {
  const { type } = schema;
  const isOpenApi = rules.keywords?.has('nullable') === true;
  if (isOpenApi && Array.isArray(type)) problems.add(path, 'type is not repeating, cannot start list');
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type];
  for (const each of types)
    if (typeof each !== 'string' || !TYPES.has(each.toLowerCase()))
      problems.add(path, `"${String(each)}" is not a type`);
  const needsItems = rules.arraysNeedItems && types.includes('array') && !isBag(schema.items);
  if (needsItems) problems.add(path, 'array schema missing items');
  const { required, properties, enum: values } = schema;
  if (rules.keywords !== undefined && Array.isArray(required))
    for (const name of required)
      if (!isBag(properties) || !Object.hasOwn(properties, String(name)))
        problems.add(path, `required: property "${String(name)}" is not defined`);
  if (!Array.isArray(values)) return;
  if (values.length === 0) problems.add(path, 'enum must not be empty');
  for (const value of values) {
    if (types.length > 0 && !types.some((each) => isOf(value, each)))
      problems.add(path, `the enum value ${JSON.stringify(value)} is not of type ${types.join(' or ')}`);
    if (rules.keywords !== undefined && typeof value !== 'string' && (isOpenApi || typeof value !== 'number'))
      problems.add(path, `the enum value ${JSON.stringify(value)} is not taken`);
    if (rules.keywords !== undefined && value === '') problems.add(path, 'enum values cannot be empty');
  }
}

function isOf(value: unknown, type: unknown): boolean {
  switch (String(type).toLowerCase()) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isBag(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === String(type).toLowerCase();
  }
}

function checkRef(schema: Bag, { root, rules, problems }: Walk, path: string): void {
  const ref = schema.$ref;
  if (ref === undefined) return;
  if (!rules.refs) return;
  if (typeof ref !== 'string' || !ref.startsWith('#')) {
    problems.add(path, `$ref "${String(ref)}" is not local`);
    return;
  }
  let found: unknown = root;
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = Array.isArray(found) ? found[Number(key)] : isBag(found) ? found[key] : undefined;
  }
  if (!isBag(found) && typeof found !== 'boolean') problems.add(path, `$ref "${ref}" points to nothing`);
}
