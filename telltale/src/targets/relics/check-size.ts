import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

const MAX_VALUE_BYTES = 1024 * 1024;

/** One value must not fill the store. `what` names it. */
export function checkSize(value: Json, what: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_VALUE_BYTES) return;
  throw new RuntimeError(
    'bad_parameters',
    `The value of ${what} has ${bytes} bytes; ${MAX_VALUE_BYTES} are allowed.`,
    {
      hint: 'Keep it in a file, and its path here.',
    },
  );
}
