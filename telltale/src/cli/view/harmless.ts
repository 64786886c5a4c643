import { invisibleWarning, visibleText } from '../../lib/text.ts';
import { printable } from '../../manifest/diagnostic.ts';

/**
 * Escape sequences that are whole: colours, cursor moves, titles and links. The classes do not overlap and the text of
 * a title is bounded, so that the search is linear in whatever a tool prints.
 */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\n]{0,1024}(?:\u0007|\u001b\\|\u009c)/g;

const TAB = '  ';

/** Text of a model or a tool as it may be written to a terminal: whole escape sequences are gone, halves are U+FFFD. */
export const harmlessLines = (text: string): readonly string[] =>
  text
    .replace(SEQUENCES, '')
    .replaceAll('\t', TAB)
    .split(/\r\n?|\n/)
    .map(printable);

/** The same on one line, white space squeezed. */
export const harmlessLine = (text: string): string =>
  harmlessLines(text).join(' ').replace(/ {2,}/g, ' ').trim();

/** Text for a person who has to see exactly what will be done: everything that hides is spelled out, line breaks are kept. */
export const spelledOut = visibleText;

/** The same on one line, beside a question: nothing of it is left out, and line breaks are marked. */
export const spelledOutLine = (text: string): string =>
  visibleText(text.replaceAll('\r\n', '\n'))
    .replace(/[ \t]+/g, ' ')
    .trim()
    .replace(/ ?\n ?/g, ' ⏎ ');

/** The warning below a question whose texts hide something; no line where they hide nothing. */
export function hiddenLines(
  yellow: (text: string) => string,
  ...texts: readonly string[]
): readonly string[] {
  const warning = invisibleWarning(...texts);
  return warning === undefined ? [] : [`  ${yellow(`warning: ${warning}`)}`];
}
