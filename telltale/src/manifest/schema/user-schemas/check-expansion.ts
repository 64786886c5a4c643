import { isMap } from '../is-map.ts';
import { everySchema, referenceResolver } from './reference-resolver.ts';
import { badSchema, type SchemaFinding } from './schema-finding.ts';
import { IN_PLACE_KEYWORDS } from './schema-keywords.ts';

/** How often one value may be judged over again: two references to a part with two references … doubles each time. */
const MAX_EXPANSION = 10_000;

/**
 * References that come back to the same schema without going deeper into the value would never end, and those that
 * fan out would take for ever, however small the schema is. Both are found by counting, without following a value.
 */
export function checkExpansion(root: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
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

/** The schemas that judge the same value as `schema` does. */
function inPlace(
  schema: Readonly<Record<string, unknown>>,
  resolve: (reference: string) => unknown,
): readonly unknown[] {
  const own = Object.entries(schema).flatMap(([key, value]) => (IN_PLACE_KEYWORDS.has(key) ? value : []));
  const dependent = isMap(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : [];
  const referred = typeof schema.$ref === 'string' ? [resolve(schema.$ref)] : [];
  return [...own, ...dependent, ...referred];
}
