import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** Schemas may refer to themselves; values that are nested deeper than this stay as they are. */
const MAX_DEPTH = 32;

/**
 * The parameters with each list that was given as a string of JSON, where the schema wants a list and takes no string.
 * The same object where there is none. What comes of it is still to be checked.
 */
export const withLists = (schema: JsonObject, parameters: JsonObject): JsonObject =>
  listsIn(parameters, schema, schema, 0) as JsonObject;

function listsIn(value: Json, schema: Json | undefined, root: JsonObject, depth: number): Json {
  if (depth > MAX_DEPTH || (typeof value !== 'object' && typeof value !== 'string') || value === null)
    return value;
  const shapes = shapesOf(schema, root, 0);
  if (shapes === undefined) return value;
  if (typeof value === 'string') {
    const isList =
      shapes.length > 0 &&
      !shapes.some((shape) => takes(shape, 'string')) &&
      shapes.some((shape) => takes(shape, 'array'));
    const list = isList ? listOf(value) : undefined;
    return list === undefined ? value : listsIn(list, schema, root, depth);
  }
  const type = Array.isArray(value) ? 'array' : 'object';
  const fitting = shapes.filter((shape) => takes(shape, type));
  const [shape] = fitting;
  if (shape === undefined || fitting.length > 1) return value;
  return Array.isArray(value)
    ? itemsOf(value, shape, root, depth)
    : membersOf(value as JsonObject, shape, root, depth);
}

function itemsOf(
  list: readonly Json[],
  { items, prefixItems }: JsonObject,
  root: JsonObject,
  depth: number,
): Json {
  const first = Array.isArray(prefixItems) ? prefixItems : [];
  const parsed = list.map((item, index) => listsIn(item, first[index] ?? items, root, depth + 1));
  return parsed.some((item, index) => item !== list[index]) ? parsed : (list as Json);
}

function membersOf(value: JsonObject, shape: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = isJsonObject(shape.properties) ? shape.properties : {};
  const changed: [string, Json][] = [];
  for (const [key, member] of Object.entries(value)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : shape.additionalProperties;
    const parsed = listsIn(member, schema, root, depth + 1);
    if (parsed !== member) changed.push([key, parsed]);
  }
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}

/** The schemas of which a value has to fit one, references followed; undefined where that cannot be told. */
function shapesOf(
  schema: Json | undefined,
  root: JsonObject,
  depth: number,
): readonly JsonObject[] | undefined {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return undefined;
  if (typeof schema.$ref === 'string') return shapesOf(referred(schema.$ref, root), root, depth + 1);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.type !== undefined || !Array.isArray(alternatives)) return [schema];
  const shapes = alternatives.map((each) => shapesOf(each, root, depth + 1));
  return shapes.includes(undefined) ? undefined : shapes.flatMap((each) => each ?? []);
}

function referred(ref: string, root: JsonObject): Json | undefined {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  let at: Json | undefined = root;
  for (const part of ref.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Whether a schema takes values of this type. One that names no type takes all but what its other keywords show. */
function takes(
  { type, enum: values, properties, items }: JsonObject,
  wanted: 'string' | 'array' | 'object',
): boolean {
  if (type !== undefined) return Array.isArray(type) ? type.includes(wanted) : type === wanted;
  if (Array.isArray(values)) return values.some((value) => typeOf(value) === wanted);
  if (wanted === 'object') return items === undefined || properties !== undefined;
  return wanted === 'string' || properties === undefined;
}

const typeOf = (value: Json): string => (Array.isArray(value) ? 'array' : typeof value);

function listOf(text: string): Json[] | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as Json[]) : undefined;
  } catch {
    return undefined;
  }
}
