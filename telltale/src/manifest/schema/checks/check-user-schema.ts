import { Ajv2020, type ErrorObject, type Options } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { nearest } from '../../../kernel/nearest.ts';
import type { Finding } from '../finding.ts';
import { isMap } from '../is-map.ts';
import { checkPattern } from '../pattern.ts';
import { clip, showValue } from '../show-value.ts';

export const MAX_SCHEMA_DEPTH = 32;
export const MAX_SCHEMA_NODES = 5_000;

export interface SchemaFinding extends Finding {
  readonly path: readonly (string | number)[];
}

/** What these hold is data or names, not schemas. */
const DATA = new Set(['const', 'default', 'enum', 'examples', 'required', 'dependentRequired', 'type']);
/** What these hold are schemas under names of the user's. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const KEYWORDS = [
  ...['$schema', '$id', '$ref', '$defs', '$anchor', '$comment', 'definitions', 'type', 'enum', 'const'],
  ...[
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'propertyNames',
    'minProperties',
  ],
  ...[
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
    'unevaluatedProperties',
    'items',
    'prefixItems',
  ],
  ...['contains', 'minContains', 'maxContains', 'minItems', 'maxItems', 'uniqueItems', 'unevaluatedItems'],
  ...[
    'minLength',
    'maxLength',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
  ],
  ...[
    'multipleOf',
    'allOf',
    'anyOf',
    'oneOf',
    'not',
    'if',
    'then',
    'else',
    'title',
    'description',
    'default',
  ],
  ...[
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
    'contentEncoding',
    'contentMediaType',
    'contentSchema',
  ],
];

/**
 * Everything wrong with a user's JSON Schema. Bounded before ajv sees it: ajv generates code, and follows
 * references, so size, depth, remote references and patterns are judged here first.
 */
export function checkUserSchema(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  const walk = { nodes: 0, findings };
  walkSchema(schema, [], walk);
  if (findings.some((found) => found.severity !== 'warning')) return findings;
  const meta = metaSchema();
  if (!meta.validateSchema(schema as JsonObject))
    return [...findings, ...metaFindings(schema, meta.errors ?? [])];
  try {
    newAjv({ validateSchema: false }).compile(schema as JsonObject);
    return findings;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return [...findings, bad([], `This JSON Schema cannot be used: ${clip(why, 200)}.`)];
  }
}

/** An ajv of its own for each schema, so that a `$id` never meets another's; formats are notes only. */
function newAjv(options: Options = {}): Ajv2020 {
  const regExp = Object.assign(
    (source: string) => ({ test: (text: string) => RE2JS.compile(source).matcher(text).find() }),
    {
      code: 'linear',
    },
  );
  return new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    inlineRefs: false,
    logger: false,
    code: { regExp },
    ...options,
  });
}

let sharedMeta: Ajv2020 | undefined;

/** Ajv with nothing in it but the meta-schema, whose compilation takes 25 ms: shared, since it is a constant. */
function metaSchema(): Ajv2020 {
  sharedMeta ??= newAjv();
  return sharedMeta;
}

interface Walk {
  nodes: number;
  readonly findings: SchemaFinding[];
}

function walkSchema(schema: unknown, path: readonly (string | number)[], walk: Walk): void {
  if (!isMap(schema)) {
    if (Array.isArray(schema))
      for (const [index, part] of schema.entries()) walkSchema(part, [...path, index], walk);
    return;
  }
  if (++walk.nodes === MAX_SCHEMA_NODES)
    walk.findings.push(bad(path, `This JSON Schema has more than ${MAX_SCHEMA_NODES} parts.`));
  if (path.length > MAX_SCHEMA_DEPTH && walk.nodes < MAX_SCHEMA_NODES) {
    walk.findings.push(bad(path, `This JSON Schema is nested deeper than ${MAX_SCHEMA_DEPTH} levels.`));
    walk.nodes = MAX_SCHEMA_NODES;
  }
  if (walk.nodes >= MAX_SCHEMA_NODES) return;
  for (const [key, value] of Object.entries(schema)) {
    const here = [...path, key];
    if (NAMED.has(key) && isMap(value)) walkNamed(key, value, here, walk);
    else if (key === 'pattern' && typeof value === 'string') pushPattern(value, here, 'value', walk);
    else if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string' && !value.startsWith('#'))
      walk.findings.push(
        bad(
          here,
          `The reference ${showValue(value)} leads out of this schema.`,
          'Only references inside it ("#/$defs/NAME") are followed.',
        ),
      );
    else if (!KEYWORDS.includes(key) && !key.startsWith('x-')) pushUnknown(key, here, walk);
    else if (!DATA.has(key)) walkSchema(value, here, walk);
  }
}

function walkNamed(
  key: string,
  named: Readonly<Record<string, unknown>>,
  path: readonly (string | number)[],
  walk: Walk,
): void {
  for (const [name, value] of Object.entries(named)) {
    if (key === 'patternProperties') pushPattern(name, [...path, name], 'key', walk);
    walkSchema(value, [...path, name], walk);
  }
}

function pushPattern(
  source: string,
  path: readonly (string | number)[],
  at: 'key' | 'value',
  walk: Walk,
): void {
  const found = checkPattern(source);
  if (found !== undefined) walk.findings.push({ ...found, at, path });
}

/** JSON Schema lets unknown keywords pass in silence, so a slip would switch a check off: worth a warning. */
function pushUnknown(key: string, path: readonly (string | number)[], walk: Walk): void {
  const near = nearest(key, KEYWORDS);
  const hint =
    near === undefined ? 'It has no effect; prefix it with "x-" if it is a note.' : `Did you mean "${near}"?`;
  const message = `JSON Schema knows no keyword "${clip(key)}".`;
  walk.findings.push({ code: 'unknown_keyword', message, hint, at: 'key', severity: 'warning', path });
}

function metaFindings(
  schema: Json | Readonly<Record<string, unknown>>,
  errors: readonly ErrorObject[],
): SchemaFinding[] {
  const byPath = new Map<string, ErrorObject[]>();
  for (const error of errors)
    byPath.set(error.instancePath, [...(byPath.get(error.instancePath) ?? []), error]);
  const paths = [...byPath.keys()];
  const deepest = paths.filter(
    (path) => !paths.some((other) => other !== path && other.startsWith(`${path}/`)),
  );
  return deepest.map((pointer) => {
    const path = pointerPath(pointer, schema);
    const value = path.reduce<unknown>(
      (at, key) => (at as Record<string | number, unknown> | undefined)?.[key],
      schema,
    );
    const key = path.findLast((part) => typeof part === 'string') ?? 'schema';
    const why = [
      ...new Set((byPath.get(pointer) ?? []).map((error) => error.message ?? error.keyword)),
    ].slice(0, 2);
    const hint =
      key === 'required' && typeof value === 'boolean'
        ? 'Write "required: [names]" beside "properties", in the object that holds this one.'
        : `In JSON Schema "${key}" ${why.join('; ')}.`;
    return {
      code: 'bad_schema',
      message: `"${key}" cannot be ${showValue(value)} in a JSON Schema.`,
      hint,
      path,
    };
  });
}

/** A JSON pointer as a path, with list indices as numbers where the document has lists. */
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

const bad = (path: readonly (string | number)[], message: string, hint?: string): SchemaFinding => ({
  code: 'bad_schema',
  message,
  hint,
  path,
});
