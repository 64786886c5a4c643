import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';

/** Redis keeps texts: one stays as it is, so that other programs read what was meant; the rest is written as JSON. */
export const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What was kept; read as JSON where that is asked for. */
export function fromText(what: string, found: Json, asJson: Json | undefined): Json {
  if (asJson !== true || typeof found !== 'string') return found;
  try {
    return JSON.parse(found) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `What ${what} keeps there is no JSON.`, {
      hint: 'Leave "json" out to get it as text.',
      cause,
    });
  }
}
