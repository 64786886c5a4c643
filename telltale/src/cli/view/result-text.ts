import type { Json } from '../../kernel/json.ts';
import { paletteFor } from '../colour.ts';
import type { Output } from '../io.ts';
import { harmlessLines } from './harmless.ts';
import { jsonText } from './json-line.ts';
import { jsonRows } from './json-rows.ts';
import { createMarkdown } from './markdown.ts';

const DEFAULT_COLUMNS = 80;

/**
 * A result for whoever asked for nothing else, whole: text as it is, anything else as JSON. A pipe gets every character. A
 * terminal gets only those that cannot steer it, and with colors Markdown is rendered and JSON colored.
 */
export function resultText(
  result: Json,
  output: Pick<Output, 'isTerminal'> & Partial<Pick<Output, 'colour' | 'columns'>>,
): string {
  const { isTerminal, colour = false, columns = DEFAULT_COLUMNS } = output;
  const paint = paletteFor({ colour });
  const isRendered = isTerminal && colour;
  if (typeof result !== 'string') {
    const rows = isRendered ? jsonRows(result, columns - 1, Number.POSITIVE_INFINITY, { paint }) : undefined;
    return rows === undefined ? jsonText(result, 2) : `${rows.join('\n')}\n`;
  }
  const text = !isTerminal
    ? result
    : isRendered
      ? markdownText(result, columns - 1, { paint, colour })
      : harmlessLines(result).join('\n');
  return text.endsWith('\n') ? text : `${text}\n`;
}

function markdownText(text: string, columns: number, options: Parameters<typeof createMarkdown>[0]): string {
  const markdown = createMarkdown(options);
  const rows = harmlessLines(text.trimEnd()).flatMap((line) => markdown.line(line, columns));
  return [...rows, ...markdown.end(columns)].join('\n');
}
