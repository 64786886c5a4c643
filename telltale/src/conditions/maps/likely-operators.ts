import type { PathSegment } from '../issue.ts';
import { isPlainObject } from '../own-property.ts';
import { operatorHint, readsLikeOperator } from './condition-issues.ts';
import { OPERATORS } from './conditions.ts';

/** A field inside a field that was likely meant to be an operator. */
export interface LikelyOperator {
  /** Keys and indices from the top of the map: `['progress', 'greater']`. */
  readonly path: readonly PathSegment[];
  readonly message: string;
  readonly hint: string;
}

/** Operators whose operand is data, not conditions. */
const isData = (key: string) => key === 'in' || key === 'contains';
const isOperator = (key: string) => OPERATORS.some((operator) => operator === key);

/**
 * `progress: { greater: 3 }` looks for a field `greater` inside `progress`, and must: there may be one. Where such a
 * name stands alone in its map it is worth a word; written as a path (`progress.greater: 3`) it is meant. `conditions`
 * have been read without an issue, so their depth and size are bounded.
 */
export function likelyOperators(
  conditions: unknown,
  path: readonly PathSegment[] = [],
): readonly LikelyOperator[] {
  if (Array.isArray(conditions))
    return conditions.flatMap((each, index) => likelyOperators(each, [...path, index]));
  if (!isPlainObject(conditions)) return [];
  return Object.entries(conditions).flatMap(([key, value]) => {
    if (isData(key)) return [];
    const inside = [...path, key];
    const found = loneOperator(key, value);
    return found === undefined
      ? likelyOperators(value, inside)
      : [
          {
            path: [...inside, found],
            message: `This looks for a field "${found}" inside "${key}"; no operator has that name.`,
            hint: `${operatorHint(found)} If the field is meant, write "${key}.${found}: …".`,
          },
        ];
  });
}

function loneOperator(field: string, value: unknown): string | undefined {
  if (isOperator(field) || field === 'all' || field === 'any' || !isPlainObject(value)) return undefined;
  const [only, another] = Object.keys(value);
  if (only === undefined || another !== undefined || isOperator(only) || isPlainObject(value[only]))
    return undefined;
  return readsLikeOperator(only) ? only : undefined;
}
