import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { Json } from '../../../kernel/json.ts';
import { isMap } from '../is-map.ts';
import { orList, showValue } from '../show-value.ts';
import { checkAgainstUserSchema } from './check-user-schema.ts';
import type { DocumentNode } from './document-node.ts';

/** Why `value` does not satisfy the metadata field at `field`, or undefined if it does (or the field is broken). */
export function fieldViolation(field: DocumentNode, value: Json): string | undefined {
  const type = field.text() ?? field.at('type').text() ?? (field.has('values') ? 'enum' : undefined);
  switch (type) {
    case 'enum':
      return enumViolation(field, value);
    case 'string':
      return typeof value === 'string' ? textViolation(field, value) : notA('text', value);
    case 'number':
      return typeof value === 'number' ? numberViolation(field, value) : notA('a number', value);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : notA('true or false', value);
    case 'object':
      return isMap(value) ? objectViolation(field, value) : notA('a map', value);
    case 'array':
      return Array.isArray(value) ? arrayViolation(field, value) : notA('a list', value);
    default:
      return undefined;
  }
}

const notA = (wanted: string, value: Json) => `${showValue(value)} is not ${wanted}`;

function enumViolation(field: DocumentNode, value: Json): string | undefined {
  const values = field.at('values').value;
  if (!Array.isArray(values) || values.includes(value)) return undefined;
  return `${showValue(value)} is not ${orList(values.map((allowed) => String(allowed)))}`;
}

function textViolation(field: DocumentNode, value: string): string | undefined {
  const max = field.at('max_length').value;
  if (typeof max === 'number' && value.length > max) return `${showValue(value)} is longer than ${max}`;
  const source = field.at('pattern').text();
  if (source === undefined) return undefined;
  const compiled = compilePattern(source);
  return !compiled.ok || compiled.value.test(value)
    ? undefined
    : `${showValue(value)} does not match the pattern ${source}`;
}

function numberViolation(field: DocumentNode, value: number): string | undefined {
  const min = field.at('min').value;
  const max = field.at('max').value;
  if (typeof min === 'number' && value < min) return `${value} is below the minimum ${min}`;
  if (typeof max === 'number' && value > max) return `${value} is above the maximum ${max}`;
  return field.at('integer').value === true && !Number.isInteger(value)
    ? `${value} is not a whole number`
    : undefined;
}

function objectViolation(field: DocumentNode, value: Json): string | undefined {
  const schema = field.at('schema').value;
  return isMap(schema) ? checkAgainstUserSchema(schema, value) : undefined;
}

function arrayViolation(field: DocumentNode, value: readonly Json[]): string | undefined {
  const max = field.at('max_items').value;
  if (typeof max === 'number' && value.length > max) return `it has ${value.length} items, more than ${max}`;
  const items = field.at('items');
  if (items.value === undefined) return undefined;
  for (const [index, item] of value.entries()) {
    const why = fieldViolation(items, item);
    if (why !== undefined) return `item ${index + 1}: ${why}`;
  }
  return undefined;
}
