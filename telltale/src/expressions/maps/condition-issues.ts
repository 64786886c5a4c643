import { nearest } from '../../lib/nearest.ts';
import { type ConditionConditionIssue, type PathSegment, quote } from '../issue.ts';
import { OPERATORS } from './conditions.ts';

export type ConditionCode =
  | 'not_a_map'
  | 'empty'
  | 'bad_path'
  | 'bad_pattern'
  | 'bad_operand'
  | 'mixed_map'
  | 'unknown_operator'
  | 'never_matches'
  | 'too_deep'
  | 'too_large';

export type ConditionIssue = ConditionConditionIssue<ConditionCode> & {
  readonly path: readonly PathSegment[];
};

type Path = readonly PathSegment[];

/** What people write who know another language, and the operator they mean. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['greater', 'gt'],
  ['greater_than', 'gt'],
  ['more', 'gt'],
  ['above', 'gt'],
  ['after', 'gt'],
  ['>', 'gt'],
  ['ge', 'gte'],
  ['min', 'gte'],
  ['at_least', 'gte'],
  ['>=', 'gte'],
  ['less', 'lt'],
  ['less_than', 'lt'],
  ['below', 'lt'],
  ['before', 'lt'],
  ['<', 'lt'],
  ['le', 'lte'],
  ['max', 'lte'],
  ['at_most', 'lte'],
  ['<=', 'lte'],
  ['ne', 'not'],
  ['neq', 'not'],
  ['!=', 'not'],
  ['nin', 'not'],
  ['not_in', 'not'],
  ['one_of', 'in'],
  ['any_of', 'in'],
  ['includes', 'contains'],
  ['has', 'contains'],
  ['regex', 'matches'],
  ['pattern', 'matches'],
  ['match', 'matches'],
  ['=~', 'matches'],
  ['present', 'exists'],
  ['defined', 'exists'],
]);
const EQUALITY: ReadonlySet<string> = new Set(['eq', 'equals', 'equal', 'is', '==', '=']);

const wordOf = (key: string): string => key.trim().toLowerCase().replace(/^\$/, '');

/** The operator that `key` was most likely meant to be. */
function meantOperator(key: string): string | undefined {
  const word = wordOf(key);
  return OTHER_WORDS.get(word) ?? nearest(word, OPERATORS);
}

/** Whether `key` was most likely meant to be an operator, or equality, which has none. */
export const meansOperator = (key: string): boolean =>
  EQUALITY.has(wordOf(key)) || meantOperator(key) !== undefined;

/** Whether a name of a field reads like an operator: a word of another language, or an operator with one slip. */
export function readsLikeOperator(key: string): boolean {
  const word = key.toLowerCase();
  if (OTHER_WORDS.has(word) || EQUALITY.has(word)) return true;
  return (
    OPERATORS.some((operator) => operator === word) || (word.length > 3 && meantOperator(word) !== undefined)
  );
}

export function operatorHint(key: string): string {
  if (EQUALITY.has(wordOf(key))) return `For equality write the value itself in place of { ${key}: … }.`;
  const meant = meantOperator(key);
  return meant === undefined ? `Operators: ${OPERATORS.join(', ')}.` : `Did you mean "${meant}"?`;
}

export const notAMap = (path: Path, found: string): ConditionIssue => ({
  code: 'not_a_map',
  message: `Conditions are a map from fields to what they must be; ${found} was found.`,
  hint: 'Write { status: CODING }.',
  path,
});

export const emptyMap = (path: Path): ConditionIssue => ({
  code: 'empty',
  message: 'An empty map asks for nothing.',
  hint: 'Name a field in it, or write { exists: true } for a field that must only be there.',
  path,
});

export const emptyList = (path: Path): ConditionIssue => ({
  code: 'empty',
  message: 'An empty list can never be matched.',
  hint: 'Put at least one value into it.',
  path,
});

export const mixedMap = (
  path: Path,
  operators: readonly string[],
  fields: readonly string[],
): ConditionIssue => ({
  code: 'mixed_map',
  message: `A map has both operators (${operators.join(', ')}) and other keys (${fields.map(quote).join(', ')}).`,
  hint: `${fields.map(mixedHint).join(' ')} A field that is called like an operator is written ["${operators[0]}"].`,
  path,
});

const mixedHint = (field: string): string =>
  meansOperator(field)
    ? `${quote(field)}: ${operatorHint(field)}`
    : `Move ${quote(field)} into a map of its own.`;

export const unknownOperator = (path: Path, key: string): ConditionIssue => ({
  code: 'unknown_operator',
  message: `${quote(key)} is no operator, and no name of a field either.`,
  hint: operatorHint(key),
  path,
});

export const badOperand = (path: Path, operator: string, needs: string, found: string): ConditionIssue => ({
  code: 'bad_operand',
  message: `"${operator}" takes ${needs}; ${found} was found.`,
  path,
});

export const listInList = (path: Path): ConditionIssue => ({
  code: 'bad_operand',
  message: 'A list stands inside a list of alternatives.',
  hint: 'For a field that is a list write { in: [[a, b]] } to compare all of it, or { contains: a }.',
  path,
});

export const nestedChange = (path: Path, inside: string): ConditionIssue => ({
  code: 'bad_operand',
  message: `"changed", "from" and "to" cannot stand inside "${inside}".`,
  hint: 'Put them side by side: { from: A, to: B }.',
  path,
});

export const neverMatches = (path: Path, others: readonly string[]): ConditionIssue => ({
  code: 'never_matches',
  message: `A field that is missing ("exists: false") cannot also satisfy ${others.map(quote).join(', ')}.`,
  hint: 'Use any: [{ exists: false }, { … }] for one or the other.',
  path,
});

export const tooDeep = (path: Path, limit: number): ConditionIssue => ({
  code: 'too_deep',
  message: `Conditions are nested more than ${limit} deep.`,
  hint: 'Use a path as the key (a.b.c), or a CEL test.',
  path,
});

export const tooLarge = (path: Path, limit: number): ConditionIssue => ({
  code: 'too_large',
  message: `The conditions have more than ${limit} parts.`,
  hint: 'Split them over several triggers.',
  path,
});
