import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonObject } from '../../kernel/json.ts';

/** A schema of Zod, Valibot, ArkType or any other library of the Standard Schema, or a JSON Schema (2020-12). */
export type Schema = StandardSchemaV1 | JsonObject;

/** What a function gets that is called with values of a schema. */
export type ReadAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Of> : JsonObject;

/** What may be written in place of a value of a schema, before the schema has seen it. */
export type WrittenAs<Of> = Of extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Of> : unknown;

/** ArkType's schemas are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchemaV1 =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  typeof (value as Partial<StandardSchemaV1>)['~standard']?.validate === 'function';

/** What is a schema of a library's own, if it is one. */
export const standardOf = (schema: unknown): StandardSchemaV1 | undefined =>
  isStandardSchema(schema) ? schema : undefined;
