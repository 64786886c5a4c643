import type { Json } from '../../kernel/json.ts';
import type { Output } from '../io.ts';
import { harmlessLines } from './harmless.ts';
import { jsonText } from './json-line.ts';

/**
 * A result for whoever asked for nothing else: text as it is, anything else as JSON. A pipe gets every character; a
 * terminal only those that cannot steer it.
 */
export function resultText(result: Json, { isTerminal }: Pick<Output, 'isTerminal'>): string {
  if (typeof result !== 'string') return jsonText(result, 2);
  const text = isTerminal ? harmlessLines(result).join('\n') : result;
  return text.endsWith('\n') ? text : `${text}\n`;
}
