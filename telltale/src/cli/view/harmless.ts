import { invisibleWarning, visibleText } from '../../lib/text.ts';
import { printable } from '../../manifest/diagnostic.ts';

/**
 * Complete escape sequences: colors, cursor moves, titles and links. The character classes do not overlap and a title's
 * length is bounded, so the search is linear whatever a tool prints.
 */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\n]{0,1024}(?:\u0007|\u001b\\|\u009c)/g;

const TAB = '  ';

/**
 * Makes the text of a model or tool safe for a terminal: removes complete escape sequences, and replaces incomplete
 * ones with U+FFFD.
 */
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
