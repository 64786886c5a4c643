import type { PathSegment } from '../issue.ts';
import type { ConditionIssue } from './condition-issues.ts';
import type { Condition } from './conditions.ts';

/** What the readers of a condition map share. */
export interface Reading {
  report(issue: ConditionIssue): void;
  /** Counts one part of the map; false (and an issue) where the map is too deep or too large to go on. */
  enter(path: readonly PathSegment[]): boolean;
  /** Reads a map of fields and combinators. */
  readonly readMap: (value: unknown, path: readonly PathSegment[], reading: Reading) => Condition;
}

/** What `value` is, as a message names it. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
    case 'number':
    case 'boolean':
      return String(value);
    case 'object':
      return 'a map';
    default:
      return `a ${typeof value}`;
  }
}
