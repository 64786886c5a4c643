import { nearest, suggest } from '../../../lib/nearest.ts';
import type { IssuePath } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import { clip, showValue } from '../show-value.ts';
import { checkPattern } from '../values.ts';
import { badSchema, type SchemaFinding } from './schema-finding.ts';

export const MAX_SCHEMA_DEPTH = 32;
export const MAX_SCHEMA_NODES = 5_000;
/**
 * Parts for which ajv generates nested code (`if (valid)`): those of one list or map, and of the ones around it. Node
 * runs out of stack between 1,000 and 1,500 of them, and compiling takes quadratic time.
 */
export const MAX_SCHEMA_ROW = 500;

const DRAFT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

interface UserSchemaWalk {
  nodes: number;
  readonly findings: SchemaFinding[];
  readonly root: Readonly<Record<string, unknown>>;
  readonly resolve: (reference: string) => unknown;
}

/**
 * Finds what makes a schema unusable before it is compiled (its size, depth, outside references, patterns that can
 * hang, another draft), and keywords that would be ignored silently.
 */
export function walkUserSchema(schema: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
  const walk: UserSchemaWalk = { nodes: 0, findings: [], root: schema, resolve: referenceResolver(schema) };
  walkSchema(schema, [], walk, 0);
  return walk.findings;
}

/** `above` counts the parts of the same row around it. */
function walkSchema(schema: unknown, path: IssuePath, walk: UserSchemaWalk, above: number): void {
  if (Array.isArray(schema))
    for (const [index, part] of schema.entries()) walkSchema(part, [...path, index], walk, above);
  if (!isMap(schema) || walk.nodes >= MAX_SCHEMA_NODES) return;
  if (++walk.nodes === MAX_SCHEMA_NODES) {
    walk.findings.push(badSchema(path, `This JSON Schema has more than ${MAX_SCHEMA_NODES} parts.`));
    return;
  }
  if (path.length > MAX_SCHEMA_DEPTH) {
    walk.findings.push(badSchema(path, `This JSON Schema is nested deeper than ${MAX_SCHEMA_DEPTH} levels.`));
    walk.nodes = MAX_SCHEMA_NODES;
    return;
  }
  let row = above;
  for (const [key, value] of Object.entries(schema)) {
    const here = [...path, key];
    row +=
      ROW_KEYWORDS.has(key) && typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
    const found = row > MAX_SCHEMA_ROW ? tooManyInARow(here) : keywordFinding(key, value, here, walk);
    if (found !== undefined) walk.findings.push(found);
    if (row > MAX_SCHEMA_ROW) return;
    if (found !== undefined) continue;
    if (NAMING_KEYWORDS.has(key) && isMap(value))
      walkNamed(key, value, here, walk, SEPARATE_KEYWORDS.has(key) ? 0 : row);
    else if (!DATA_KEYWORDS.has(key)) walkSchema(value, here, walk, row);
  }
}

const tooManyInARow = (path: IssuePath) =>
  badSchema(
    path,
    `This JSON Schema has more than ${MAX_SCHEMA_ROW} parts side by side.`,
    'Write constants as one "enum", and put parts that belong together into "$defs".',
  );

function walkNamed(
  key: string,
  named: Readonly<Record<string, unknown>>,
  path: IssuePath,
  walk: UserSchemaWalk,
  row: number,
): void {
  for (const [name, value] of Object.entries(named)) {
    const found = key === 'patternProperties' ? patternFinding(name, [...path, name], 'key') : undefined;
    if (found !== undefined) walk.findings.push(found);
    walkSchema(value, [...path, name], walk, row);
  }
}

function keywordFinding(
  key: string,
  value: unknown,
  path: IssuePath,
  walk: UserSchemaWalk,
): SchemaFinding | undefined {
  switch (key) {
    case 'pattern':
      return typeof value === 'string' ? patternFinding(value, path, 'value') : undefined;
    case '$ref':
      if (typeof value !== 'string') return undefined;
      if (value.startsWith('#')) return referenceFinding(value, path, walk);
      return badSchema(
        path,
        `The reference ${showValue(value)} leads outside this schema.`,
        'Only references inside it ("#/$defs/NAME") are followed.',
      );
    case '$schema':
      if (typeof value === 'string' && DRAFT.test(value)) return undefined;
      return badSchema(
        path,
        `This JSON Schema declares an unsupported draft: ${showValue(value)}.`,
        'Telltale supports draft 2020-12: https://json-schema.org/draft/2020-12/schema. Or remove "$schema".',
      );
    case '$id':
      return path.length === 1
        ? undefined
        : badSchema(
            path,
            'A part of a JSON Schema has a "$id" of its own.',
            'Only the whole schema may have one. Refer to parts with "#/$defs/NAME".',
          );
    case '$dynamicRef':
    case '$dynamicAnchor':
    case '$recursiveRef':
    case '$async':
      return badSchema(
        path,
        `"${key}" is not supported in a JSON Schema.`,
        'Refer to parts with "$ref: #/$defs/NAME".',
      );
    default:
      return KEYWORDS.includes(key) || key.startsWith('x-') ? undefined : unknownKeyword(key, value, path);
  }
}

function referenceFinding(
  reference: string,
  path: IssuePath,
  walk: UserSchemaWalk,
): SchemaFinding | undefined {
  const found = walk.resolve(reference);
  if (isMap(found) || typeof found === 'boolean') return undefined;
  const known = ['$defs', 'definitions'].flatMap((key) => {
    const named = Object.hasOwn(walk.root, key) ? walk.root[key] : undefined;
    return isMap(named) ? Object.keys(named).map((name) => `#/${key}/${name}`) : [];
  });
  const hint = suggest(reference, known.slice(0, MAX_SUGGESTED), 'Parts that have a name');
  return badSchema(path, `The reference ${showValue(reference)} does not exist.`, hint);
}

const MAX_SUGGESTED = 20;

function patternFinding(source: string, path: IssuePath, at: 'key' | 'value'): SchemaFinding | undefined {
  const found = checkPattern(source);
  return found === undefined ? undefined : { ...found, at, path };
}

/** Keywords of older drafts and of OpenAPI that ajv still applies and other validators don't. */
const FOREIGN_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ['nullable', 'Write "type: [string, \'null\']".'],
  ['dependencies', 'Write "dependentRequired" or "dependentSchemas".'],
]);

/** JSON Schema ignores unknown keywords, so a misspelling would turn a check off. That is worth a warning. */
function unknownKeyword(key: string, value: unknown, path: IssuePath): SchemaFinding {
  const near = nearest(key, KEYWORDS);
  const hint =
    FOREIGN_KEYWORDS.get(key) ??
    (near === undefined
      ? isMap(value) && Object.hasOwn(value, 'type')
        ? 'It has no effect. Put a property into "properties: { NAME: … }".'
        : 'It has no effect. If it is a note, prefix it with "x-".'
      : `Did you mean "${near}"?`);
  return {
    code: 'unknown_keyword',
    message: `Unknown keyword "${clip(key)}" in a JSON Schema.`,
    hint,
    at: 'key',
    severity: 'warning',
    path,
  };
}

/** Resolves `$ref` inside a JSON Schema. Only own properties count, so `#/toString` does not resolve. */
export function referenceResolver(root: Readonly<Record<string, unknown>>): (reference: string) => unknown {
  let anchors: ReadonlyMap<unknown, unknown> | undefined;
  return (reference) => {
    if (reference === '#') return root;
    if (!reference.startsWith('#/')) {
      anchors ??= new Map([...everySchema(root)].map((part) => [part.$anchor, part]));
      return anchors.get(reference.slice(1));
    }
    return reference
      .slice(2)
      .split('/')
      .map((part) => decode(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>(ownProperty, root);
  };
}

const ownProperty = (at: unknown, key: string): unknown =>
  typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    ? (at as Readonly<Record<string, unknown>>)[key]
    : undefined;

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Every map in a schema, including itself. */
export function* everySchema(at: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (isMap(at)) yield at;
  if (typeof at === 'object' && at !== null) for (const inner of Object.values(at)) yield* everySchema(inner);
}

/** Keywords that contain data or names instead of schemas. */
export const DATA_KEYWORDS: ReadonlySet<string> = new Set(
  'const default enum examples required dependentRequired type'.split(' '),
);

/** Keywords that contain schemas under the user's names. */
export const NAMING_KEYWORDS: ReadonlySet<string> = new Set(
  'properties patternProperties $defs definitions dependentSchemas'.split(' '),
);

/** Keywords whose schemas check the same value, not a part of it. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set(
  'allOf anyOf oneOf not if then else'.split(' '),
);

/** Keywords whose schemas are checked in order, each only if the ones before it are satisfied. */
const ROW_KEYWORDS: ReadonlySet<string> = new Set(
  'properties patternProperties dependentSchemas dependentRequired allOf oneOf prefixItems'.split(' '),
);

/** Keywords whose schemas are checked only through references. */
const SEPARATE_KEYWORDS: ReadonlySet<string> = new Set('$defs definitions'.split(' '));

/** The supported keywords of draft 2020-12. */
export const KEYWORDS: readonly string[] = [
  '$schema $id $ref $defs $anchor $comment definitions type enum const properties required additionalProperties',
  'patternProperties propertyNames minProperties maxProperties dependentRequired dependentSchemas',
  'unevaluatedProperties items prefixItems contains minContains maxContains minItems maxItems uniqueItems',
  'unevaluatedItems minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
  'allOf anyOf oneOf not if then else title description default examples deprecated readOnly writeOnly',
  'contentEncoding contentMediaType contentSchema',
].flatMap((line) => line.split(' '));
