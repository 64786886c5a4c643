import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Finding } from '../../manifest/diagnostic.ts';
import { checkPattern } from '../../manifest/schema/values.ts';

const TARGET = 'draft-2020-12';

export type JsonSchemaOf =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly finding: Finding };

/** The JSON Schema of what a Standard Schema takes (`input`) or gives: the model reads it, the schema itself judges. */
export async function jsonSchemaOf(
  schema: StandardSchemaV1,
  side: 'input' | 'output',
): Promise<JsonSchemaOf> {
  const { vendor } = schema['~standard'];
  try {
    const made = await convert(schema, side);
    if (made === undefined) return { ok: false, finding: noJsonSchema(vendor) };
    const { $schema: _, ...plain } = JSON.parse(JSON.stringify(made)) as JsonObject;
    return { ok: true, schema: withoutSlowPatterns(plain) as JsonObject };
  } catch (thrown) {
    return { ok: false, finding: notConvertible(vendor, toRuntimeError(thrown).message) };
  }
}

async function convert(schema: StandardSchemaV1, side: 'input' | 'output'): Promise<unknown> {
  const { jsonSchema, vendor } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  if (jsonSchema !== undefined) return jsonSchema[side]({ target: TARGET });
  if (vendor === 'zod' && '_zod' in schema) {
    const { z } = await import('zod'); // a Zod 4 from before the extension
    return z.toJSONSchema(schema as unknown as import('zod').ZodType, { io: side, target: TARGET });
  }
  const { toJsonSchema } = schema as { readonly toJsonSchema?: unknown }; // an ArkType from before it
  return typeof toJsonSchema === 'function' ? toJsonSchema.call(schema) : undefined;
}

/**
 * Libraries write patterns with look-ahead (an e-mail address), which linear engines cannot match and manifests may not
 * hold. Nothing is lost: the schema itself judges the value.
 */
function withoutSlowPatterns(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutSlowPatterns);
  if (typeof value !== 'object' || value === null) return value;
  const isSlow = (key: string, item: Json) =>
    key === 'pattern' && typeof item === 'string' && checkPattern(item) !== undefined;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      isSlow(key, item) ? [] : [[key, withoutSlowPatterns(item)]],
    ),
  );
}

const GIVE = 'Give it yourself beside the schema, as "jsonSchema".';

const noJsonSchema = (vendor: string): Finding => ({
  severity: 'error',
  code: 'no_json_schema',
  message: `This schema of ${vendor} cannot say what it is as JSON Schema, which the model has to read.`,
  hint:
    vendor === 'valibot'
      ? `Give it beside the schema: jsonSchema: toJsonSchema(schema, { target: "${TARGET}" }), from @valibot/to-json-schema.`
      : GIVE,
});

const notConvertible = (vendor: string, why: string): Finding => ({
  severity: 'error',
  code: 'no_json_schema',
  message: `${vendor} cannot write this schema as JSON Schema, which the model has to read: ${why}`,
  hint: GIVE,
});
