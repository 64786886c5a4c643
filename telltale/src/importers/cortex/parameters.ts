import type { Json, JsonObject } from '../../lib/json.ts';
import { jsonTypeOf } from '../python.ts';
import type { SourceMap } from '../source-map.ts';
import { filled, mapOf, trimmedText } from '../values.ts';

const LIMITS: Readonly<Record<string, string>> = {
  min: 'minimum',
  max: 'maximum',
  min_length: 'minLength',
  max_length: 'maxLength',
  pattern: 'pattern',
};

/** A list of parameters, or a map of them, as a JSON Schema. */
export function schemaOf(parameters: Json | undefined, fields: SourceMap): JsonObject {
  const entries = Array.isArray(parameters)
    ? parameters.map((each) => [String(mapOf(each).name ?? ''), mapOf(each)] as const)
    : Object.entries(mapOf(parameters)).map(([name, each]) => [name, mapOf(each)] as const);
  const properties = entries.map(([name, { name: _, required, type, values, validation, ...others }]) => {
    const schema: Record<string, Json | undefined> = {};
    const named = { enum: 'string', json: 'object' }[String(type)] ?? jsonTypeOf(String(type));
    if (named !== undefined) schema.type = named;
    else if (type !== undefined && type !== 'any')
      fields.note(
        'parameters',
        'left',
        `${name}: there is no type ${trimmedText(type)}, so it takes any value`,
      );
    if (values !== undefined) schema.enum = values;
    for (const [key, value] of Object.entries(others))
      if (['description', 'default', 'enum', 'items', 'properties'].includes(key)) schema[key] = value;
      else fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
    for (const [key, value] of Object.entries(mapOf(validation))) {
      const limit = LIMITS[key];
      if (limit === undefined) fields.note('parameters', 'left', `${name}: JSON Schema has no "${key}"`);
      else schema[limit] = value;
    }
    return [name, filled(schema)] as const;
  });
  const required = entries.filter(([, each]) => each.required === true).map(([name]) => name);
  return { type: 'object', ...filled({ required }), properties: Object.fromEntries(properties) };
}

/** A JSON Schema as it was written; `required: true` within a property, which JSON Schema does not have, moves up. */
export function cleanSchema(schema: Json | undefined): JsonObject {
  const { properties, required, ...rest } = mapOf(schema);
  const inside: string[] = [];
  const cleaned = Object.entries(mapOf(properties)).map(([name, each]) => {
    const { required: own, ...others } = mapOf(each);
    if (own === true) inside.push(name);
    const kept = Array.isArray(own) ? mapOf(each) : (others as JsonObject);
    return [name, kept.properties === undefined ? kept : cleanSchema(kept)] as const;
  });
  const names = [...new Set([...(Array.isArray(required) ? required : []), ...inside])];
  return {
    ...(rest as JsonObject),
    type: 'object',
    ...filled({ required: names }),
    properties: Object.fromEntries(cleaned),
  };
}
