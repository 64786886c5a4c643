import type { Json, JsonObject } from '../../lib/json.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { ModelTool } from '../model.ts';
import type { FunctionTool } from './language-model.ts';

/** The dialect of JSON Schema that a provider supports. */
export type SchemaDialect = 'openai' | 'anthropic' | 'google';

/** OpenAI refuses longer descriptions of functions. Descriptions in schemas have no such limit. */
const MAX_DESCRIPTION = 1024;
/** The limits of real schemas. Recursive ones are truncated here. */
const MAX_DEPTH = 32;
const MAX_NODES = 5_000;
/** How often a schema may contain itself when references are expanded. */
const MAX_RECURSION = 2;
/** The most characters that a description may say about unsupported keywords. */
const MAX_NOTE = 600;

const TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
/** Keywords that no provider accepts at the root. */
const REFUSED_AT_ROOT: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const']);
/** Keywords that no provider reads, or that only identify a schema. */
const DROPPED: ReadonlySet<string> = new Set(['$schema', '$id', 'id', '$comment', '$vocabulary', 'examples']);
/** https://ai.google.dev/api/caching#FunctionDeclaration. `allOf` and `const` are rewritten. */
const OF_GOOGLE: ReadonlySet<string> = new Set([
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
]);
const FORMATS_OF_GOOGLE: ReadonlySet<Json> = new Set([
  'date-time',
  'date',
  'time',
  'enum',
  'float',
  'double',
  'int32',
  'int64',
]);
const ANTHROPIC_PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/;

const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const SCHEMA_LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Whose schemas a provider of the AI SDK takes; those of unknown ones are mostly modeled on OpenAI. */
export function schemaDialectOf(provider: string): SchemaDialect {
  if (provider.includes('anthropic')) return 'anthropic';
  return /google|vertex|gemini/.test(provider) ? 'google' : 'openai';
}

/**
 * Converts a tool for a provider: its schema is translated to the provider's dialect, and unsupported keywords are
 * described in words. The model's input is still checked against the original schema. The same tool always gives the
 * same result.
 */
export function functionTool(tool: ModelTool, dialect: SchemaDialect): FunctionTool {
  const { name, parameters } = tool;
  const schema = new SchemaWriter(parameters, dialect).writeRoot();
  const description = tool.description.trim() === '' ? `Calls ${name}.` : tool.description;
  if (dialect !== 'openai' || description.length <= MAX_DESCRIPTION)
    return { type: 'function', name, description, inputSchema: schema };
  const about =
    typeof schema.description === 'string' ? `${description}\n\n${schema.description}` : description;
  return {
    type: 'function',
    name,
    description: `${description.slice(0, MAX_DESCRIPTION - 1)}…`,
    inputSchema: { ...schema, description: about },
  };
}

/** Rewrites one schema without changing the original. */
class SchemaWriter {
  private nodes = 0;
  /** References that are being expanded, once per nesting. */
  private readonly inside: string[] = [];
  private readonly root: JsonObject;
  private readonly dialect: SchemaDialect;

  constructor(root: JsonObject, dialect: SchemaDialect) {
    this.root = root;
    this.dialect = dialect;
  }

  writeRoot(): JsonObject {
    const { $ref, ...own } = this.root;
    const target = typeof $ref === 'string' ? this.find($ref) : undefined;
    const whole: JsonObject = isMap(target) ? { ...(target as JsonObject), ...own } : own;
    const refused = Object.entries(whole).filter(([key]) => REFUSED_AT_ROOT.has(key));
    const taken = Object.entries(whole).filter(([key]) => !REFUSED_AT_ROOT.has(key));
    const schema = this.write({ ...Object.fromEntries(taken), type: 'object' }, 0);
    const properties = isMap(schema.properties) ? (schema.properties as JsonObject) : {};
    return withNote({ ...schema, type: 'object', properties }, Object.fromEntries(refused));
  }

  private write(value: Json | undefined, depth: number): JsonObject {
    this.nodes++;
    // `true` and anything that is not a schema allow everything. `false` is left to the check of the input.
    if (!isMap(value) || depth > MAX_DEPTH || this.nodes > MAX_NODES) return {};
    const schema = readOldDrafts(value as JsonObject);
    if (schema.$ref !== undefined) return this.writeRef(schema, depth);
    const left: Record<string, Json> = {};
    const out: Record<string, Json> = {};
    for (const [key, given] of Object.entries(schema)) {
      if (DROPPED.has(key)) continue;
      if (this.dialect === 'google' && !OF_GOOGLE.has(key)) left[key] = given;
      else if (SCHEMA_MAPS.has(key)) out[key] = this.writeMap(key, given, depth, left);
      else if (SCHEMA_LISTS.has(key)) {
        if (Array.isArray(given) && given.length > 0)
          out[key] = given.map((each: Json) => this.write(each, depth + 1));
      } else if (SCHEMAS.has(key))
        out[key] = typeof given === 'boolean' && key !== 'items' ? given : this.write(given, depth + 1);
      else out[key] = given;
    }
    if (this.dialect === 'google') this.rewriteForGoogle(schema, out, left, depth);
    settleTypes(out, left, this.dialect);
    keepRequired(out, left, this.dialect);
    return withNote(out, left);
  }

  private writeMap(key: string, given: Json, depth: number, left: Record<string, Json>): JsonObject {
    if (!isMap(given)) return {};
    const entries = Object.entries(given as JsonObject);
    const isNamed = this.dialect === 'anthropic' && key === 'properties';
    const strange = isNamed ? entries.filter(([name]) => !ANTHROPIC_PROPERTY.test(name)) : [];
    if (strange.length > 0) left.properties = Object.fromEntries(strange);
    return Object.fromEntries(
      entries
        .filter((entry) => !strange.includes(entry))
        .map(([name, each]) => [name, this.write(each, depth + 1)]),
    );
  }

  /** Keeps a reference that resolves. For Google, which supports none, it is expanded. */
  private writeRef(schema: JsonObject, depth: number): JsonObject {
    const { $ref: ref, ...beside } = schema;
    const target = typeof ref === 'string' ? this.find(ref) : undefined;
    if (target === undefined || typeof ref !== 'string') return this.write(beside, depth);
    if (this.dialect !== 'google') return { ...this.write(beside, depth), $ref: ref };
    if (this.inside.filter((each) => each === ref).length >= MAX_RECURSION) return this.write(beside, depth);
    this.inside.push(ref);
    const written = this.write(isMap(target) ? { ...(target as JsonObject), ...beside } : target, depth);
    this.inside.pop();
    return written;
  }

  private find(ref: string): Json | undefined {
    if (ref === '#') return this.root;
    if (!ref.startsWith('#/')) return undefined;
    let found: Json | undefined = this.root;
    for (const step of ref.slice(2).split('/')) {
      const key = unescaped(step);
      if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
      else if (isMap(found) && Object.hasOwn(found, key)) found = (found as JsonObject)[key];
      else return undefined;
    }
    return isMap(found) || typeof found === 'boolean' ? found : undefined;
  }

  private rewriteForGoogle(
    schema: JsonObject,
    out: Record<string, Json>,
    left: Record<string, Json>,
    depth: number,
  ) {
    const { format } = out;
    if (format !== undefined && !FORMATS_OF_GOOGLE.has(format)) {
      left.format = format;
      delete out.format;
    }
    delete left.$defs;
    delete left.definitions;
    if (schema.const !== undefined && schema.enum === undefined) {
      out.enum = [schema.const];
      delete left.const;
    }
    if (schema.nullable === true) delete left.nullable;
    if (!Array.isArray(schema.allOf)) return;
    // An `allOf` of objects is one object with the properties of each.
    const parts = schema.allOf.map((each: Json) => this.write(each, depth + 1));
    delete left.allOf;
    for (const part of parts) {
      const { properties, required, ...rest } = part;
      for (const [key, value] of Object.entries(rest)) out[key] ??= value;
      if (isMap(properties))
        out.properties = {
          ...(properties as JsonObject),
          ...(isMap(out.properties) ? (out.properties as JsonObject) : {}),
        };
      if (Array.isArray(required))
        out.required = [...new Set([...(Array.isArray(out.required) ? out.required : []), ...required])];
    }
  }
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/** Translates keywords of older drafts and of OpenAPI. */
function readOldDrafts(schema: JsonObject): JsonObject {
  const {
    items,
    exclusiveMinimum,
    exclusiveMaximum,
    minimum,
    maximum,
    required,
    nullable,
    additionalItems,
    ...rest
  } = schema;
  const out: Record<string, Json> = { ...rest };
  if (Array.isArray(items)) {
    out.prefixItems = items;
    out.items = additionalItems ?? {};
  } else if (items !== undefined) out.items = items;
  bound(out, 'minimum', minimum, 'exclusiveMinimum', exclusiveMinimum);
  bound(out, 'maximum', maximum, 'exclusiveMaximum', exclusiveMaximum);
  if (Array.isArray(required))
    out.required = [...new Set(required.filter((name: Json) => typeof name === 'string'))];
  if (nullable === true && typeof out.type === 'string') out.type = [out.type, 'null'];
  return out;
}

/** In draft 4, an exclusive bound is `true` next to the bound. */
function bound(
  out: Record<string, Json>,
  key: string,
  value: Json | undefined,
  exclusive: string,
  isExclusive: Json | undefined,
) {
  if (typeof isExclusive === 'number') out[exclusive] = isExclusive;
  if (isExclusive === true && typeof value === 'number') out[exclusive] = value;
  else if (typeof value === 'number') out[key] = value;
}

/** Keeps known types, adds items to lists, and drops values of other types. */
function settleTypes(out: Record<string, Json>, left: Record<string, Json>, dialect: SchemaDialect): void {
  const named = (Array.isArray(out.type) ? out.type : [out.type]).filter((type: Json | undefined) =>
    TYPES.has(type),
  );
  const types = [...new Set(named as string[])];
  if (types.length === 0) delete out.type;
  else out.type = types.length === 1 ? (types[0] as string) : types;
  if (types.includes('array') && !isMap(out.items)) out.items = {};
  if (!Array.isArray(out.enum)) {
    delete out.enum;
    return;
  }
  const values: readonly Json[] = out.enum;
  const takes = (value: Json) =>
    dialect !== 'google' || (value !== '' && (typeof value === 'string' || typeof value === 'number'));
  const kept = values.filter(takes);
  if (kept.length < values.length) left.enum = values;
  if (
    kept.length === 0 ||
    (kept.length < values.length && !values.every((value) => takes(value) || value === null))
  )
    delete out.enum;
  else {
    out.enum = kept;
    if (types.length > 0 && !kept.every((value) => types.some((type) => isOf(value, type)))) delete out.type;
  }
}

function isOf(value: Json, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isMap(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Google refuses required properties that are not defined, so they are moved to the note. */
function keepRequired(out: Record<string, Json>, left: Record<string, Json>, dialect: SchemaDialect): void {
  const { required } = out;
  if (required === undefined) return;
  if (!Array.isArray(required)) {
    delete out.required;
    return;
  }
  if (dialect !== 'google') return;
  const { properties } = out;
  const known = required.filter((name: Json) => isMap(properties) && Object.hasOwn(properties, String(name)));
  if (known.length < required.length) left.required = required.filter((name: Json) => !known.includes(name));
  if (known.length === 0) delete out.required;
  else out.required = known;
}

/** Describes the dropped keywords as JSON Schema, which models can read. */
function withNote(schema: JsonObject, left: JsonObject): JsonObject {
  if (Object.keys(left).length === 0) return schema;
  const words = JSON.stringify(left);
  const note = `Must also satisfy ${words.length > MAX_NOTE ? `${words.slice(0, MAX_NOTE)}…` : words}.`;
  const said = typeof schema.description === 'string' ? `${schema.description} ` : '';
  return { ...schema, description: said + note };
}
