import type { ConditionCode } from '../../../conditions/maps/condition-issues.ts';
import { likelyOperators } from '../../../conditions/maps/likely-operators.ts';
import { parseConditions } from '../../../conditions/maps/parse-conditions.ts';
import type { Json } from '../../../kernel/json.ts';
import type { Finding } from '../finding.ts';

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
  return parsed.error.map(({ code, message, hint, offset, path }) => ({
    code: 'bad_conditions',
    message,
    hint,
    path,
    ...(ABOUT_KEYS.has(code) ? { at: 'key' } : { offset }),
  }));
}

/** What is wrong with the key that the path ends with, not with what stands behind it. */
const ABOUT_KEYS: ReadonlySet<ConditionCode> = new Set(['bad_path', 'unknown_operator']);
