import { compilePattern } from '../../../conditions/linear-regex.ts';
import type { Json } from '../../../kernel/json.ts';
import { isMap } from '../is-map.ts';
import { clip, orList, showValue } from '../show-value.ts';
import { compileUserSchema } from '../user-schemas/check-user-schema.ts';
import type { DocumentNode } from './document-node.ts';

/** Why a value does not satisfy a field, or undefined if it does. */
export type Violation = (value: Json) => string | undefined;

/** What the metadata field at `field` says of values. Made once for all items of a list; a broken field takes anything. */
export function fieldViolation(field: DocumentNode): Violation {
  switch (field.at('type').text() ?? (field.has('values') ? 'enum' : undefined)) {
    case 'enum':
      return enumViolation(field);
    case 'string':
      return only('text', (value) => typeof value === 'string', textViolation(field));
    case 'number':
      return only('a number', (value) => typeof value === 'number', numberViolation(field));
    case 'boolean':
      return only(
        'true or false',
        (value) => typeof value === 'boolean',
        () => undefined,
      );
    case 'object':
      return only('a map', isMap, objectViolation(field));
    case 'array':
      return only('a list', Array.isArray, arrayViolation(field));
    default:
      return () => undefined;
  }
}

const only =
  <T extends Json>(
    wanted: string,
    is: (value: Json) => boolean,
    violation: (value: T) => string | undefined,
  ): Violation =>
  (value) =>
    is(value) ? violation(value as T) : `${showValue(value)} is not ${wanted}`;

function enumViolation(field: DocumentNode): Violation {
  const values = field.at('values').value;
  if (!Array.isArray(values)) return () => undefined;
  return (value) =>
    values.includes(value)
      ? undefined
      : `${showValue(value)} is not ${oneOf(values.map((allowed) => String(allowed)))}`;
}

const MAX_LISTED = 20;

const oneOf = (names: readonly string[]) =>
  names.length > MAX_LISTED
    ? `one of ${names.slice(0, MAX_LISTED).map(clipped).join(', ')}, …`
    : orList(names.map(clipped));

const clipped = (name: string) => clip(name);

function textViolation(field: DocumentNode): (value: string) => string | undefined {
  const max = field.at('max_length').value;
  const source = field.at('pattern').text();
  const compiled = source === undefined ? undefined : compilePattern(source);
  return (value) => {
    if (typeof max === 'number' && value.length > max) return `${showValue(value)} is longer than ${max}`;
    if (compiled === undefined || !compiled.ok || compiled.value.test(value)) return undefined;
    return `${showValue(value)} does not match the pattern ${source}`;
  };
}

function numberViolation(field: DocumentNode): (value: number) => string | undefined {
  const min = field.at('min').value;
  const max = field.at('max').value;
  const integer = field.at('integer').value === true;
  return (value) => {
    if (typeof min === 'number' && value < min) return `${value} is less than the minimum ${min}`;
    if (typeof max === 'number' && value > max) return `${value} is greater than the maximum ${max}`;
    return integer && !Number.isInteger(value) ? `${value} is not a whole number` : undefined;
  };
}

function objectViolation(field: DocumentNode): Violation {
  const schema = field.at('schema').value;
  const compiled = isMap(schema) ? compileUserSchema(schema) : undefined;
  return compiled?.ok ? compiled.value : () => undefined;
}

function arrayViolation(field: DocumentNode): (value: readonly Json[]) => string | undefined {
  const max = field.at('max_items').value;
  const items = field.at('items').value === undefined ? undefined : fieldViolation(field.at('items'));
  return (value) => {
    if (typeof max === 'number' && value.length > max)
      return `it has ${value.length} items, but at most ${max} are allowed`;
    for (const [index, item] of value.entries()) {
      const why = items?.(item);
      if (why !== undefined) return `item ${index + 1}: ${why}`;
    }
    return undefined;
  };
}
