import { displayWidth, graphemes } from '../../../manifest/display-width.ts';
import { printable } from '../../../manifest/printable.ts';

/** XML has no way to write these. */
const NOT_XML = /[\ufffe\uffff]/g;

/** Text as it may stand in a drawing: on one line, nothing in it unprintable. */
export const plainLine = (text: string): string =>
  printable(text).replace(NOT_XML, '\ufffd').replace(/\s+/g, ' ').trim();

/** What is longer than this is not looked at: nobody reads it in a drawing. */
const MAX_TEXT = 2000;

/** Cuts a text into rows of at most `columns`, at blanks where there are any; what needs more than `rows` is clipped. */
export function fitText(text: string, columns: number, rows: number): readonly string[] {
  const fitted: string[] = [];
  let row = '';
  const words = plainLine(text.slice(0, MAX_TEXT))
    .split(' ')
    .flatMap((word) => pieces(word, columns));
  for (const word of words) {
    const longer = row === '' ? word : `${row} ${word}`;
    if (displayWidth(longer) <= columns) row = longer;
    else if (fitted.length + 1 < rows) {
      fitted.push(row);
      row = word;
    } else return [...fitted, clipped(longer, columns)];
  }
  return row === '' ? fitted : [...fitted, row];
}

/** A word that is longer than a row, in pieces that fit. */
function pieces(word: string, columns: number): readonly string[] {
  if (displayWidth(word) <= columns) return word === '' ? [] : [word];
  const found: string[] = [];
  let piece = '';
  for (const { segment } of graphemes(word)) {
    if (piece !== '' && displayWidth(piece + segment) > columns) {
      found.push(piece);
      piece = '';
    }
    piece += segment;
  }
  return [...found, piece];
}

function clipped(text: string, columns: number): string {
  let kept = '';
  for (const { segment } of graphemes(text)) {
    if (displayWidth(kept + segment) > columns - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}
