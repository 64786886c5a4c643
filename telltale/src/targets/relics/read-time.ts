import { parseDuration } from '../../kernel/duration.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { showValue } from '../../manifest/schema/show-value.ts';

/** Beyond ten years it is a slip. */
const MAX_TIME_MS = 3_653 * 86_400_000;

/** Milliseconds of a parameter like "10m" or 30. `place` is where it stands: `/ttl`. */
export function readTime(value: Json, place: string): number {
  const parsed = typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  if (parsed?.ok && parsed.value > 0 && parsed.value <= MAX_TIME_MS) return parsed.value;
  throw new RuntimeError(
    'bad_parameters',
    `"${place}" is ${showValue(value)}, which is no time above zero and below ten years.`,
    {
      hint: 'Write it like "10m", "2h" or 30 (seconds).',
    },
  );
}
