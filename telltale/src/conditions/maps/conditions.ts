import type { Json } from '../../kernel/json.ts';
import type { PathSegment } from '../issue.ts';
import type { Pattern } from '../linear-regex.ts';

/** A condition map that was read: a tree of plain data, for `matches`, `fieldsOf` and an index over many of them. */
export type Condition =
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'field'; readonly path: readonly PathSegment[]; readonly test: FieldTest };

/** What is asked of one field. All but `exists`, `changed`, `from` and `to` are false for a field that is missing. */
export type FieldTest =
  | { readonly kind: 'equals'; readonly value: Json }
  | { readonly kind: 'any_of'; readonly tests: readonly FieldTest[] }
  /** A nested map: the field is an object in which these hold. */
  | { readonly kind: 'inside'; readonly condition: Condition }
  /** An operator map with more than one operator: all of them. */
  | { readonly kind: 'every'; readonly tests: readonly FieldTest[] }
  | { readonly kind: 'not'; readonly test: FieldTest }
  | { readonly kind: 'compare'; readonly by: Comparison; readonly with: number | string }
  | { readonly kind: 'in'; readonly values: readonly Json[] }
  | { readonly kind: 'contains'; readonly value: Json }
  | { readonly kind: 'matches'; readonly pattern: Pattern }
  | { readonly kind: 'exists'; readonly is: boolean }
  | { readonly kind: 'changed'; readonly is: boolean }
  /** The field changed, and what it was before passes the test. */
  | { readonly kind: 'from'; readonly test: FieldTest }
  /** The field changed, and what it is now passes the test. */
  | { readonly kind: 'to'; readonly test: FieldTest };

export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

export const OPERATORS = [
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
] as const;
export type Operator = (typeof OPERATORS)[number];

export const COMBINATORS = ['all', 'any', 'not'] as const;
