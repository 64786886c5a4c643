import { isMap } from '../is-map.ts';
import { badSchema, type SchemaFinding } from './schema-finding.ts';
import { IN_PLACE_KEYWORDS } from './schema-keywords.ts';

/** How often one value may be judged over again: two references to a part with two references … doubles each time. */
const MAX_EXPANSION = 10_000;

/**
 * References that come back to the same schema without going deeper into the value would never end, and those that
 * fan out would take for ever, however small the schema is. Both are found by counting, without following a value.
 */
export function checkExpansion(root: Readonly<Record<string, unknown>>): readonly SchemaFinding[] {
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
    for (const inner of inPlace(schema, root)) weight += weigh(inner);
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
          'A reference in this JSON Schema leads back to itself without end.',
          'Put a property or an item between the two.',
        ),
      ];
    if (weight > MAX_EXPANSION)
      return [
        badSchema(
          [],
          `One value would be judged more than ${MAX_EXPANSION} times by this JSON Schema.`,
          'Its references fan out; refer to each part once.',
        ),
      ];
  }
  return [];
}

/** The schemas that judge the same value as `schema` does. */
function inPlace(
  schema: Readonly<Record<string, unknown>>,
  root: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  const own = Object.entries(schema).flatMap(([key, value]) => (IN_PLACE_KEYWORDS.has(key) ? value : []));
  const dependent = isMap(schema.dependentSchemas) ? Object.values(schema.dependentSchemas) : [];
  const referred = typeof schema.$ref === 'string' ? [resolve(schema.$ref, root)] : [];
  return [...own, ...dependent, ...referred];
}

function resolve(reference: string, root: Readonly<Record<string, unknown>>): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/'))
    return [...everySchema(root)].find((part) => isMap(part) && part.$anchor === reference.slice(1));
  return reference
    .slice(2)
    .split('/')
    .map((part) => decode(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined | null)?.[key], root);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function* everySchema(at: unknown): Generator<unknown> {
  if (isMap(at)) yield at;
  if (typeof at === 'object' && at !== null) for (const inner of Object.values(at)) yield* everySchema(inner);
}
