import type { Comparison } from '../../../expressions/cel/check-expression.ts';
import type { PathSegment } from '../../../expressions/issue.ts';
import { compilePattern } from '../../../expressions/linear-regex.ts';
import { COMBINATORS, OPERATORS } from '../../../expressions/maps/conditions.ts';
import { parseConditions } from '../../../expressions/maps/parse-conditions.ts';
import { FIELD_NAME, parsePath } from '../../../expressions/path.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { nearest, suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import { clip, orList, showValue } from '../show-value.ts';
import { compileUserSchema } from '../user-schemas/check-user-schema.ts';
import { type DocumentNode, documentNode, errorAt } from './document-node.ts';

/** What conditions may name: metadata fields or context variables, by name, with their declarations. */
export interface Declared {
  /** `metadata field`, `context variable`. */
  readonly what: string;
  /** The owner, for messages: `"coder"`. Undefined if it is the document itself. */
  readonly agent?: string;
  readonly named: ReadonlyMap<string, DocumentNode>;
}

export interface ConditionValuesAsked {
  readonly name: string;
  readonly field: DocumentNode;
  readonly declared: Declared;
}

/** Everything in a condition map that can never hold: names that don't exist, and values of another type. */
export function checkConditionValues(place: DocumentNode, declared: Declared): readonly Issue[] {
  return place.value === undefined || !parseConditions(place.value).ok ? [] : inMap(place, declared);
}

function inMap(place: DocumentNode, declared: Declared): readonly Issue[] {
  return place.entries().flatMap(([key, entry]) => {
    if (key === 'all' || key === 'any') return entry.items().flatMap((each) => inMap(each, declared));
    if (key === 'not') return inMap(entry, declared);
    const path = parsePath(key, FIELD_NAME);
    if (!path.ok) return [];
    const name = String(path.value[0]);
    const field = declared.named.get(name);
    if (field === undefined) return [unknownName(entry, name, declared)];
    const asked = { name, field, declared };
    return path.value.length > 1 ? inField(entry, asked, path.value.slice(1)) : inTest(entry, asked);
  });
}

export function unknownName(place: DocumentNode, name: string, { what, agent, named }: Declared): Issue {
  const known = [...named.keys()];
  const has = agent === undefined ? 'There is no' : `The agent ${agent} has no`;
  return errorAt(place, 'unknown_field', `${has} ${what} "${name}".`, {
    hint: () => (known.length === 0 ? `It declares no ${what}.` : suggest(name, known, 'Declared')),
    at: 'key',
  });
}

/** `The metadata field "status" of the agent "coder"`. */
export const titleOf = (name: string, { what, agent }: Declared): string =>
  `The ${what} "${name}"${agent === undefined ? '' : ` of the agent ${agent}`}`;

const lowerTitle = (name: string, declared: Declared): string =>
  titleOf(name, declared).replace('The', 'the');

const isWord = (words: readonly string[], key: string) => words.includes(key);

function inTest(place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  const { value } = place;
  if (Array.isArray(value)) return place.items().flatMap((each) => inTest(each, asked));
  if (!isMap(value)) return equal(place, asked);
  const isNested = Object.keys(value).some((key) => !isWord(OPERATORS, key) && !isWord(COMBINATORS, key));
  if (isNested) return inNested(place, asked);
  return place.entries().flatMap(([operator, operand]) => inOperator(operator, operand, asked));
}

function inOperator(operator: string, operand: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  switch (operator) {
    case 'all':
    case 'any':
    case 'in':
      return operand
        .items()
        .flatMap((each) => (operator === 'in' ? equal(each, asked) : inTest(each, asked)));
    case 'not':
    case 'from':
    case 'to':
      return inTest(operand, asked);
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return compared(operator, operand, asked);
    case 'contains':
      return contained(operand, asked);
    case 'matches':
      return mustBe(operand, asked, ['string', 'enum'], '"matches" needs text');
    default:
      return []; // exists and changed apply to any field.
  }
}

/** A question about something inside a field. There may be no such thing, or a schema says what it can be. */
function inField(
  place: DocumentNode,
  asked: ConditionValuesAsked,
  path: readonly PathSegment[],
): readonly Issue[] {
  const issues = inside(place, asked);
  if (issues.length > 0) return issues;
  const { name, field, declared } = asked;
  const found = insideSchema(field, path);
  if (found === undefined) return [];
  if (found.kind === 'missing') {
    const { key, known } = found;
    return [
      errorAt(place, 'unknown_field', `The schema of ${lowerTitle(name, declared)} has no "${key}".`, {
        hint: () => suggest(key, known, 'It has'),
        at: 'key',
      }),
    ];
  }
  return inTest(place, { name: `${name}.${path.join('.')}`, field: found.field, declared });
}

/** A map about what is inside. Its keys may be paths. */
function inNested(place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  const issues = inside(place, asked);
  if (issues.length > 0) return issues;
  return place.entries().flatMap(([key, entry]) => {
    const path = parsePath(key, FIELD_NAME);
    return path.ok && !isWord(COMBINATORS, key) ? inField(entry, asked, path.value) : [];
  });
}

/** Whether a field can have this value. `null` means that the field is not set. */
function equal(place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  const { value } = place;
  if (value === undefined || value === null) return [];
  const why = fieldViolation(asked.field)(value);
  if (why === undefined) return [];
  return [never(place, asked, `${why}.`, hintFor(asked, value))];
}

/** Checks what a CEL test compares a name with. */
export function checkComparison(
  place: DocumentNode,
  { operator, value }: Pick<Comparison, 'operator' | 'value'>,
  asked: ConditionValuesAsked,
): readonly Issue[] {
  const operand = { ...place, value };
  switch (operator) {
    case '==':
    case '!=':
      return equal(operand, asked);
    default:
      return value === null ? [] : compared(operator, operand, asked);
  }
}

function compared(operator: string, place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  const type = typeOf(asked.field);
  const { value } = place;
  if (type === undefined || type === 'any') return [];
  const fits =
    type === 'number'
      ? typeof value === 'number'
      : (type === 'string' || type === 'enum') && allowedTypes(asked.field).includes(typeof value);
  if (fits) return [];
  const why = `"${operator}" compares ${typeof value === 'number' ? 'numbers' : 'texts'}, but this is ${article(type)}.`;
  return [never(place, asked, why, 'Compare it with a value of the same type.')];
}

/** For an enum: the types of its values. */
function allowedTypes(field: DocumentNode): readonly string[] {
  const values = field.at('values').value;
  return Array.isArray(values) ? values.map((each: unknown) => typeof each) : ['string'];
}

function contained(place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] {
  const issues = mustBe(place, asked, ['string', 'enum', 'array'], '"contains" needs a list or text');
  if (issues.length > 0 || typeOf(asked.field) !== 'array') return issues;
  const items = asked.field.at('items');
  const why = items.value === undefined ? undefined : fieldViolation(items)(place.value ?? null);
  return why === undefined
    ? []
    : [never(place, asked, `of its items, ${why}.`, hintFor({ ...asked, field: items }, place.value))];
}

const inside = (place: DocumentNode, asked: ConditionValuesAsked): readonly Issue[] =>
  mustBe(place, asked, ['object', 'array'], 'it has no members', 'key');

function mustBe(
  place: DocumentNode,
  asked: ConditionValuesAsked,
  types: readonly string[],
  what: string,
  at: 'key' | 'value' = 'value',
): readonly Issue[] {
  const type = typeOf(asked.field);
  if (type === undefined || type === 'any' || types.includes(type)) return [];
  const hint = 'Change the condition, or the declared type.';
  return [never(place, asked, `${what}, but this is ${article(type)}.`, hint, at)];
}

const never = (
  place: DocumentNode,
  { name, declared }: ConditionValuesAsked,
  why: string,
  hint: string,
  at: 'key' | 'value' = 'value',
): Issue =>
  errorAt(place, 'never_matches', `${titleOf(name, declared)} can never match this: ${why}`, { hint, at });

function hintFor(asked: ConditionValuesAsked, value: Json | undefined): string {
  const { field } = asked;
  if (typeOf(field) === 'array') return 'To check what a list contains, write { contains: … }.';
  const allowed = field.at('values').value;
  if (!Array.isArray(allowed)) return 'Write a value that the field accepts.';
  if (typeof value === 'object') return 'Write one of its values.';
  const texts = allowed.filter((each): each is string => typeof each === 'string');
  const near = typeof value === 'string' ? nearest(value, texts) : undefined;
  const add = `add ${showValue(value)} to ${allowedOf(asked)}.`;
  return near === undefined ? `Write one of its values, or ${add}` : `Did you mean "${near}"? If not, ${add}`;
}

/** Where to add a value to allow it. */
const allowedOf = ({ name, declared }: ConditionValuesAsked): string =>
  declared.named.has(name)
    ? `the "values" of ${lowerTitle(name, declared)}`
    : 'the values that its schema allows';

const typeOf = (field: DocumentNode): string | undefined =>
  field.at('type').text() ?? (field.has('values') ? 'enum' : undefined);

const article = (type: string): string => `${/^[aeo]/.test(type) ? 'an' : 'a'} ${type}`;

/** What the JSON Schema of an object field says about something inside it. */
export type InsideSchema =
  /** Like a field of its own. */
  | { readonly kind: 'found'; readonly field: DocumentNode }
  /** The schema allows no such key. */
  | { readonly kind: 'missing'; readonly key: string; readonly known: readonly string[] };

/**
 * Undefined if the schema leaves it open. `properties` apply whatever is next to them, so they can be relied on.
 * References, items and combinations are not followed.
 */
function insideSchema(field: DocumentNode, path: readonly PathSegment[]): InsideSchema | undefined {
  let schema: Json | undefined = field.at('type').value === 'object' ? field.at('schema').value : undefined;
  for (const key of path) {
    if (!isMap(schema) || typeof key !== 'string') return undefined;
    const { properties, additionalProperties, patternProperties } = schema as JsonObject;
    const known = isMap(properties) ? (properties as JsonObject) : {};
    if (!Object.hasOwn(known, key)) {
      const isClosed = additionalProperties === false && patternProperties === undefined;
      return isClosed ? { kind: 'missing', key, known: Object.keys(known) } : undefined;
    }
    schema = known[key];
  }
  return isMap(schema) ? { kind: 'found', field: documentNode(asField(schema as JsonObject)) } : undefined;
}

const isScalar = (value: Json) => value !== null && typeof value !== 'object';

/** A metadata field that accepts at least what the schema does. */
function asField(schema: JsonObject): JsonObject {
  const { type } = schema;
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const ?? null] : [];
  const set = values.filter((value) => value !== null);
  if (set.length > 0) return set.every(isScalar) ? { values: set } : {};
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'array':
      return { type };
    case 'integer':
      return { type: 'number', integer: true };
    case 'object':
      return { type, schema };
    default:
      return {};
  }
}

const DEFAULT_MAX_FIELDS = 32;
const TEMPLATE_WORDS = ['fields', 'current', 'errors', 'values', 'current_value'];
/** Placeholders about the field of their line. */
const OF_A_LINE = ['values', 'current_value'];
/** A field's line in the prompt. */
const FIELD_LINE = /^[^\S\n]*-[^\S\n]*([A-Za-z_][A-Za-z0-9_]*):/;

/** Defaults that do not satisfy their field, limits that exclude everything, and placeholders that name nothing. */
export function checkMetadata(metadata: DocumentNode): readonly Issue[] {
  const fields = metadata.at('fields').entries();
  const issues = fields.flatMap(([, field]) => [
    ...checkDefault(field),
    ...checkRange(field),
    ...checkEnum(field),
  ]);
  const max = metadata.at('limits').at('fields').value ?? DEFAULT_MAX_FIELDS;
  if (typeof max === 'number' && fields.length > max)
    issues.push(
      errorAt(
        metadata.at('fields'),
        'too_many',
        `There are ${fields.length} fields, but at most ${max} are allowed.`,
        {
          hint: 'Raise "metadata.limits.fields", or put related values into one object field.',
          at: 'key',
        },
      ),
    );
  return [
    ...issues,
    ...checkTemplate(
      metadata.at('injection').at('template'),
      fields.map(([name]) => name),
    ),
  ];
}

function checkDefault(field: DocumentNode): readonly Issue[] {
  const given = field.at('default');
  if (given.value === undefined) return [];
  const why = given.value === null ? 'a field without a default is null' : fieldViolation(field)(given.value);
  if (why === undefined) return [];
  return [
    errorAt(given, 'bad_default', `The default does not fit its field: ${why}.`, {
      hint: () => defaultHint(field, given.value),
    }),
  ];
}

function defaultHint(field: DocumentNode, value: Json | undefined): string {
  const allowed = field.at('values').value;
  const near =
    typeof value === 'string' && Array.isArray(allowed)
      ? nearest(
          value,
          allowed.filter((each): each is string => typeof each === 'string'),
        )
      : undefined;
  return near === undefined ? 'Correct it, or remove it.' : `Did you mean "${near}"?`;
}

function checkRange(field: DocumentNode): readonly Issue[] {
  const min = field.at('min');
  const max = field.at('max').value;
  if (typeof min.value !== 'number' || typeof max !== 'number' || min.value <= max) return [];
  return [
    errorAt(min, 'empty_range', `The minimum ${min.value} is greater than the maximum ${max}.`, {
      hint: 'Swap them.',
    }),
  ];
}

function checkEnum(field: DocumentNode): readonly Issue[] {
  const values = field.at('values');
  const seen = new Set<unknown>();
  return values.items().flatMap((item) => {
    if (!seen.has(item.value)) {
      seen.add(item.value);
      return [];
    }
    return [
      errorAt(item, 'duplicate', `The value ${JSON.stringify(item.value)} is listed twice.`, {
        hint: 'Remove one of them.',
      }),
    ];
  });
}

/** `{fields} {current} {errors} {values.NAME}`; on a line that begins `- NAME:` also `{values}` and `{current_value}`. */
function checkTemplate(template: DocumentNode, fields: readonly string[]): readonly Issue[] {
  const text = template.text() ?? '';
  const issues: Issue[] = [];
  for (const match of text.matchAll(/\{([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\}/g)) {
    const [whole, word = '', field] = match;
    const known = TEMPLATE_WORDS.includes(word);
    if (known && field === undefined && OF_A_LINE.includes(word)) {
      const own = FIELD_LINE.exec(text.slice(text.lastIndexOf('\n', match.index) + 1))?.[1];
      if (own === undefined || !fields.includes(own)) issues.push(ofNoField(template, match, own, fields));
      continue;
    }
    if (known && (field === undefined || (word === 'values' && fields.includes(field)))) continue;
    const near = known && field !== undefined ? nearest(field, fields) : nearest(word, TEMPLATE_WORDS);
    const hint = `${near === undefined ? '' : `Did you mean "${near}"? `}Placeholders: {fields} {current} {errors} {values.NAME}${fields.length > 0 ? `; fields: ${fields.join(', ')}` : ''}.`;
    issues.push(
      errorAt(template, 'unknown_placeholder', `The template has no placeholder ${whole}.`, {
        hint,
        offset: match.index,
      }),
    );
  }
  return issues;
}

function ofNoField(
  template: DocumentNode,
  { 0: whole, index }: RegExpExecArray,
  own: string | undefined,
  fields: readonly string[],
): Issue {
  const near = own === undefined ? undefined : nearest(own, fields);
  const meant = near === undefined ? '' : `Did you mean "- ${near}:"? `;
  return errorAt(template, 'unknown_placeholder', `${whole} is on a line that belongs to no field.`, {
    hint: `${meant}Begin the line with "- NAME:", or write {values.NAME}${fields.length > 0 ? `; fields: ${fields.join(', ')}` : ''}.`,
    offset: index,
  });
}

/** Why a value does not satisfy a field. Undefined if it does. */
export type Violation = (value: Json) => string | undefined;

/** Compiles the metadata field at `field` once, for all items of a list. A broken field accepts anything. */
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
