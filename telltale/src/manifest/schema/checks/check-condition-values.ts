import type { Comparison } from '../../../conditions/cel/read-comparisons.ts';
import type { PathSegment } from '../../../conditions/issue.ts';
import { COMBINATORS, OPERATORS } from '../../../conditions/maps/conditions.ts';
import { parseConditions } from '../../../conditions/maps/parse-conditions.ts';
import { FIELD_NAME, parsePath } from '../../../conditions/path.ts';
import type { Json } from '../../../kernel/json.ts';
import { nearest, suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { isMap } from '../is-map.ts';
import { showValue } from '../show-value.ts';
import { fieldViolation } from './check-field-value.ts';
import { type DocumentNode, errorAt } from './document-node.ts';
import { insideSchema } from './inside-schema.ts';

/** What conditions may name: metadata fields or context variables, by name, with what their manifest says of them. */
export interface Declared {
  /** `metadata field`, `context variable`. */
  readonly what: string;
  /** Whose they are, for messages: `"coder"`; absent where it is the document itself. */
  readonly agent?: string;
  readonly named: ReadonlyMap<string, DocumentNode>;
}

export interface Asked {
  readonly name: string;
  readonly field: DocumentNode;
  readonly declared: Declared;
}

/** Everything in a condition map that can never hold: names that are not there, values of another type. */
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

function inTest(place: DocumentNode, asked: Asked): readonly Issue[] {
  const { value } = place;
  if (Array.isArray(value)) return place.items().flatMap((each) => inTest(each, asked));
  if (!isMap(value)) return equal(place, asked);
  const isNested = Object.keys(value).some((key) => !isWord(OPERATORS, key) && !isWord(COMBINATORS, key));
  if (isNested) return inNested(place, asked);
  return place.entries().flatMap(([operator, operand]) => inOperator(operator, operand, asked));
}

function inOperator(operator: string, operand: DocumentNode, asked: Asked): readonly Issue[] {
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
      return []; // exists, changed: any field
  }
}

/** What is asked of a place inside a field: there may be none, or a schema says what it can be. */
function inField(place: DocumentNode, asked: Asked, path: readonly PathSegment[]): readonly Issue[] {
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

/** A map of what is inside: its keys may be paths. */
function inNested(place: DocumentNode, asked: Asked): readonly Issue[] {
  const issues = inside(place, asked);
  if (issues.length > 0) return issues;
  return place.entries().flatMap(([key, entry]) => {
    const path = parsePath(key, FIELD_NAME);
    return path.ok && !isWord(COMBINATORS, key) ? inField(entry, asked, path.value) : [];
  });
}

/** Never is this value. `null` is what a field has that is not set. */
function equal(place: DocumentNode, asked: Asked): readonly Issue[] {
  const { value } = place;
  if (value === undefined || value === null) return [];
  const why = fieldViolation(asked.field)(value);
  if (why === undefined) return [];
  return [never(place, asked, `${why}.`, hintFor(asked, value))];
}

/** What a CEL test compares a name with. */
export function checkComparison(
  place: DocumentNode,
  { operator, value }: Pick<Comparison, 'operator' | 'value'>,
  asked: Asked,
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

function compared(operator: string, place: DocumentNode, asked: Asked): readonly Issue[] {
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

/** Of an enum: those of its values. */
function allowedTypes(field: DocumentNode): readonly string[] {
  const values = field.at('values').value;
  return Array.isArray(values) ? values.map((each: unknown) => typeof each) : ['string'];
}

function contained(place: DocumentNode, asked: Asked): readonly Issue[] {
  const issues = mustBe(place, asked, ['string', 'enum', 'array'], '"contains" needs a list or text');
  if (issues.length > 0 || typeOf(asked.field) !== 'array') return issues;
  const items = asked.field.at('items');
  const why = items.value === undefined ? undefined : fieldViolation(items)(place.value ?? null);
  return why === undefined
    ? []
    : [never(place, asked, `of its items, ${why}.`, hintFor({ ...asked, field: items }, place.value))];
}

const inside = (place: DocumentNode, asked: Asked): readonly Issue[] =>
  mustBe(place, asked, ['object', 'array'], 'it has no members', 'key');

function mustBe(
  place: DocumentNode,
  asked: Asked,
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
  { name, declared }: Asked,
  why: string,
  hint: string,
  at: 'key' | 'value' = 'value',
): Issue =>
  errorAt(place, 'never_matches', `${titleOf(name, declared)} can never match this: ${why}`, { hint, at });

function hintFor(asked: Asked, value: Json | undefined): string {
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

/** Where a value has to be added to be allowed. */
const allowedOf = ({ name, declared }: Asked): string =>
  declared.named.has(name)
    ? `the "values" of ${lowerTitle(name, declared)}`
    : 'the values that its schema allows';

const typeOf = (field: DocumentNode): string | undefined =>
  field.at('type').text() ?? (field.has('values') ? 'enum' : undefined);

const article = (type: string): string => `${/^[aeo]/.test(type) ? 'an' : 'a'} ${type}`;
