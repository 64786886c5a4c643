import type { Condition } from '../../conditions/maps/conditions.ts';
import { parseConditions } from '../../conditions/maps/parse-conditions.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** Conditions of a manifest that was checked. */
export function readConditions(written: JsonObject): Condition {
  const read = parseConditions(written);
  if (!read.ok) throw unchecked(read.error.map(({ message }) => message));
  return read.value;
}

const unchecked = (problems: readonly string[]) =>
  new RuntimeError(
    'bad_conditions',
    `The conditions of a derived variable are wrong: ${problems.join(' ')}`,
    {
      hint: 'Check the manifest: telltale validate',
    },
  );
