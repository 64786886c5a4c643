import type { ErrorObject } from 'ajv/dist/2020.js';
import { suggest } from '../../../kernel/nearest.ts';
import { showValue } from '../show-value.ts';
import type { SchemaFinding } from './schema-finding.ts';

/** What the meta-schema says, once for each place, and only the deepest: its branches all complain at once. */
export function metaFindings(
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

/** For a text where the meta-schema has a list of texts: `type: strng`. */
function nearestAllowed(value: unknown, errors: readonly ErrorObject[]): string | undefined {
  const allowed: unknown = errors.find((error) => error.keyword === 'enum')?.params.allowedValues;
  if (typeof value !== 'string' || !Array.isArray(allowed)) return undefined;
  return suggest(value, allowed.map(String));
}

const TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** For what stands in the place of a schema: `name: string`. */
function schemaExpected(value: unknown, errors: readonly ErrorObject[]): string | undefined {
  const isSchema = errors.some(
    ({ keyword, params }) => keyword === 'type' && String(params.type) === 'object,boolean',
  );
  if (!isSchema) return undefined;
  return TYPES.includes(value)
    ? `Write { type: ${value} }.`
    : 'Write a JSON Schema: a map, or true or false.';
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
