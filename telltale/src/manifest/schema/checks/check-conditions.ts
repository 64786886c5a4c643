import type { JsonObject } from '../../../kernel/json.ts';
import type { Finding } from '../finding.ts';

export interface ConditionFinding extends Finding {
  readonly path: readonly (string | number)[];
}

export function checkConditions(conditions: JsonObject): readonly ConditionFinding[] {
  if (Object.keys(conditions).length > 0) return [];
  const message = 'The conditions are empty, so they would always hold.';
  return [{ code: 'bad_conditions', message, hint: 'Name at least one field.', path: [] }];
}
