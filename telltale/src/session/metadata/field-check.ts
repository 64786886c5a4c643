import { compilePattern } from '../../conditions/linear-regex.ts';
import { isPlainObject } from '../../conditions/own-property.ts';
import type { Json } from '../../kernel/json.ts';
import { nearest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { MetadataField } from '../../manifest/schema/metadata-field.ts';
import { compileUserSchema } from '../../manifest/schema/user-schemas/check-user-schema.ts';

export type FieldErrorCode =
  | 'undeclared'
  | 'wrong_type'
  | 'not_allowed'
  | 'too_long'
  | 'no_match'
  | 'below_min'
  | 'above_max'
  | 'not_whole'
  | 'bad_shape'
  | 'too_many_items'
  | 'too_deep'
  | 'too_large'
  | 'more_errors';

/** Why a value does not satisfy its field. */
export interface Violation {
  readonly code: FieldErrorCode;
  readonly message: string;
}

/** The first thing wrong with a value, or undefined if it satisfies the field. Values are at most `MAX_DEPTH` deep. */
export type FieldCheck = (value: Json) => Violation | undefined;

const violation = (code: FieldErrorCode, message: string): Violation => ({ code, message });

/** Makes a field ready to judge any number of values: its pattern and its schema are compiled here, once. */
export function compileField(name: string, field: MetadataField): FieldCheck {
  switch (field.type) {
    case 'enum':
      return enumCheck(field.values);
    case 'string':
      return stringCheck(name, field.max_length, field.pattern);
    case 'number':
      return numberCheck(field);
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? undefined : wrongType(value, 'true or false'));
    case 'object':
      return objectCheck(name, field.schema);
    case 'array':
      return arrayCheck(name, field.items, field.max_items);
  }
}

function wrongType(value: Json, wanted: string): Violation {
  return violation('wrong_type', `It is ${typeName(value)}, not ${wanted}.`);
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function enumCheck(values: readonly Json[]): FieldCheck {
  const texts = values.filter((value) => typeof value === 'string');
  return (value) => {
    if (values.includes(value)) return undefined;
    const near = typeof value === 'string' ? nearest(value, texts) : undefined;
    // What an object says of itself as text is the model's to choose.
    const text = typeof value === 'object' ? undefined : String(value);
    const twin = values.find((each) => typeof each !== typeof value && String(each) === text);
    if (near !== undefined)
      return violation('not_allowed', `It is none of the values. Did you mean "${near}"?`);
    return twin === undefined
      ? violation('not_allowed', 'It is none of the values.')
      : violation('not_allowed', `It is ${typeName(value)}; the value ${String(twin)} is ${typeName(twin)}.`);
  };
}

function stringCheck(name: string, max: number | undefined, source: string | undefined): FieldCheck {
  const compiled = source === undefined ? undefined : compilePattern(source);
  if (compiled?.ok === false) throw brokenField(name, compiled.error.message);
  const pattern = compiled?.value;
  return (value) => {
    if (typeof value !== 'string') return wrongType(value, 'a string');
    if (max !== undefined && value.length > max)
      return violation('too_long', `It has ${value.length} characters; ${max} are allowed.`);
    if (pattern === undefined || pattern.test(value)) return undefined;
    return value.length > pattern.maxLength
      ? violation(
          'too_long',
          `It has ${value.length} characters; its pattern is tried on ${pattern.maxLength}.`,
        )
      : violation('no_match', `/${pattern.source}/ is not found in it.`);
  };
}

function numberCheck({ min, max, integer }: Extract<MetadataField, { type: 'number' }>): FieldCheck {
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return wrongType(value, 'a number');
    if (min !== undefined && value < min) return violation('below_min', `${value} is below ${min}.`);
    if (max !== undefined && value > max) return violation('above_max', `${value} is above ${max}.`);
    return integer && !Number.isInteger(value)
      ? violation('not_whole', `${value} is no whole number.`)
      : undefined;
  };
}

function objectCheck(name: string, schema: Readonly<Record<string, unknown>> | undefined): FieldCheck {
  const compiled = schema === undefined ? undefined : compileUserSchema(schema);
  if (compiled?.ok === false) throw brokenField(name, compiled.error[0]?.message ?? 'its schema is broken');
  const why = compiled?.value;
  return (value) => {
    if (!isPlainObject(value)) return wrongType(value, 'an object');
    const found = why?.(value as Json);
    return found === undefined ? undefined : violation('bad_shape', `In the JSON Schema's words: ${found}.`);
  };
}

function arrayCheck(name: string, items: MetadataField | undefined, max: number | undefined): FieldCheck {
  const check = items === undefined ? undefined : compileField(name, items);
  return (value) => {
    if (!Array.isArray(value)) return wrongType(value, 'a list');
    if (max !== undefined && value.length > max)
      return violation('too_many_items', `It has ${value.length} items; ${max} are allowed.`);
    if (check === undefined) return undefined;
    for (const [index, item] of (value as readonly Json[]).entries()) {
      const found = check(item);
      if (found !== undefined) return violation(found.code, `Item ${index}: ${found.message}`);
    }
    return undefined;
  };
}

const brokenField = (name: string, why: string) =>
  new RuntimeError('bad_metadata_field', `The metadata field "${name}" cannot be used: ${why}`, {
    hint: 'Check the manifest with `telltale validate` before running it.',
  });
