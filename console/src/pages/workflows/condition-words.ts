import { isJsonObject, type Json } from '../../../../telltale/src/lib/json.ts';

const OPERATORS: ReadonlySet<string> = new Set([
  'not',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'contains',
  'matches',
  'exists',
  'changed',
  'from',
  'to',
]);
/** Deeper levels of a condition are shown as JSON. */
const MAX_DEPTH = 6;

const told = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

const either = (values: readonly Json[]): string =>
  values.length < 2
    ? values.map(told).join('')
    : `${values.slice(0, -1).map(told).join(', ')} or ${told(values.at(-1))}`;

/** A condition map as a clause: `status is CODING and context.feature is there`. */
export function conditionWords(conditions: Json, join = 'and', depth = 0): string {
  if (!isJsonObject(conditions) || depth > MAX_DEPTH) return told(conditions);
  const parts = Object.entries(conditions).map(([key, value]) => {
    if ((key === 'all' || key === 'any') && Array.isArray(value)) {
      const inner = value.map((one) => conditionWords(one, 'and', depth + 1));
      return inner.length === 1 ? inner.join('') : `(${inner.join(key === 'all' ? ' and ' : ' or ')})`;
    }
    if (key === 'not') return `not (${conditionWords(value, 'and', depth + 1)})`;
    return fieldWords(key, value, depth);
  });
  return parts.join(` ${join} `);
}

function fieldWords(field: string, test: Json, depth: number): string {
  if (Array.isArray(test)) {
    if (test.every((one) => !isJsonObject(one))) return `${field} is ${either(test)}`;
    return `(${test.map((one) => fieldWords(field, one, depth)).join(' or ')})`;
  }
  if (!isJsonObject(test) || depth > MAX_DEPTH) return `${field} is ${told(test)}`;
  const keys = Object.keys(test);
  if (keys.some((key) => !OPERATORS.has(key)))
    return conditionWords(
      Object.fromEntries(Object.entries(test).map(([key, value]) => [`${field}.${key}`, value])),
      'and',
      depth + 1,
    );
  if (test.from !== undefined && test.to !== undefined && keys.length === 2)
    return `${field} changes from ${told(test.from)} to ${told(test.to)}`;
  return keys.map((key) => operatorWords(field, key, test[key] ?? null, depth)).join(' and ');
}

function operatorWords(field: string, operator: string, value: Json, depth: number): string {
  switch (operator) {
    case 'not':
      return isJsonObject(value)
        ? `not (${fieldWords(field, value, depth + 1)})`
        : `${field} is not ${Array.isArray(value) ? either(value) : told(value)}`;
    case 'gt':
      return `${field} is more than ${told(value)}`;
    case 'gte':
      return `${field} is at least ${told(value)}`;
    case 'lt':
      return `${field} is less than ${told(value)}`;
    case 'lte':
      return `${field} is at most ${told(value)}`;
    case 'in':
      return `${field} is ${Array.isArray(value) ? either(value) : told(value)}`;
    case 'exists':
      return value === false ? `${field} is missing` : `${field} is set`;
    case 'changed':
      return value === false ? `${field} does not change` : `${field} changes`;
    case 'from':
      return `${field} was ${told(value)}`;
    case 'to':
      return `${field} becomes ${told(value)}`;
    default:
      return `${field} ${operator} ${told(value)}`;
  }
}
