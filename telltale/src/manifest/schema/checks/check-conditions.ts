import { fieldsOf } from '../../../conditions/maps/fields-of.ts';
import { likelyOperators } from '../../../conditions/maps/likely-operators.ts';
import { parseConditions } from '../../../conditions/maps/parse-conditions.ts';
import type { Json } from '../../../kernel/json.ts';
import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import type { Finding } from '../finding.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

export interface ConditionFinding extends Finding {
  readonly path: readonly (string | number)[];
}

/** Everything wrong with a condition map by itself; which fields there are is judged where it stands. */
export function checkConditions(conditions: Json): readonly ConditionFinding[] {
  const parsed = parseConditions(conditions);
  if (parsed.ok)
    return likelyOperators(conditions).map((found) => ({
      ...found,
      severity: 'warning',
      code: 'likely_operator',
      at: 'key',
    }));
  return parsed.error.map(({ message, hint, offset, path }) => ({
    code: 'bad_conditions',
    message,
    hint,
    offset,
    path,
  }));
}

/** The fields a condition map names that are not among those declared. */
export function checkConditionFields(
  place: DocumentNode,
  declared: readonly string[],
  what: string,
): readonly Issue[] {
  const parsed = parseConditions(place.value);
  if (place.value === undefined || !parsed.ok) return [];
  const asked = new Set(fieldsOf(parsed.value).map(({ path: [field] }) => String(field)));
  return [...asked]
    .filter((field) => !declared.includes(field))
    .map((field) => {
      const at = place.has(field) ? place.at(field) : place;
      return errorAt(at, 'unknown_field', `There is no ${what} "${field}".`, {
        hint: () => suggest(field, declared, 'Declared'),
        at: 'key',
      });
    });
}
