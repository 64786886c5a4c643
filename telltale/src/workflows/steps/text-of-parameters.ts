import { asText } from '../../conditions/as-text.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** A text for a model, and below it what else it is to know: `name: value`, a line each, what is no text as JSON. */
export function textOfParameters(text: string, more: JsonObject): string {
  const lines = Object.entries(more).map(([name, value]) => `${name}: ${asText(value)}`);
  return [...(text.trim() === '' ? [] : [text]), ...(lines.length === 0 ? [] : [lines.join('\n')])].join(
    '\n\n',
  );
}
