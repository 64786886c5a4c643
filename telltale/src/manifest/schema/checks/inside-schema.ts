import type { PathSegment } from '../../../conditions/issue.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { isMap } from '../is-map.ts';
import { type DocumentNode, documentNode } from './document-node.ts';

/** What the JSON Schema of an object field says of a place inside of it. */
export type InsideSchema =
  /** As a field of its own. */
  | { readonly kind: 'found'; readonly field: DocumentNode }
  /** It allows no such key. */
  | { readonly kind: 'missing'; readonly key: string; readonly known: readonly string[] };

/**
 * Undefined where the schema leaves it open. `properties` hold whatever stands beside them, so that what they say can be
 * relied on; references, items and combinations are not looked into.
 */
export function insideSchema(field: DocumentNode, path: readonly PathSegment[]): InsideSchema | undefined {
  let schema: Json | undefined = field.at('type').value === 'object' ? field.at('schema').value : undefined;
  for (const key of path) {
    if (!isMap(schema) || typeof key !== 'string') return undefined;
    const { properties, additionalProperties, patternProperties } = schema as JsonObject;
    const known = isMap(properties) ? (properties as JsonObject) : {};
    if (!Object.hasOwn(known, key)) {
      const isClosed = additionalProperties === false && patternProperties === undefined;
      return isClosed ? { kind: 'missing', key, known: Object.keys(known) } : undefined;
    }
    schema = known[key];
  }
  return isMap(schema) ? { kind: 'found', field: documentNode(asField(schema as JsonObject)) } : undefined;
}

const isScalar = (value: Json) => value !== null && typeof value !== 'object';

/** A metadata field that takes at least what the schema does. */
function asField(schema: JsonObject): JsonObject {
  const { type } = schema;
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const ?? null] : [];
  const set = values.filter((value) => value !== null);
  if (set.length > 0) return set.every(isScalar) ? { values: set } : {};
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'array':
      return { type };
    case 'integer':
      return { type: 'number', integer: true };
    case 'object':
      return { type, schema };
    default:
      return {};
  }
}
