import { displayWidth, graphemes } from '../../manifest/display-width.ts';

/** Code units looked at for each column: marks that take no column must not make the search long. */
const UNITS_A_COLUMN = 8;

/** How many code units of the text, from its start, fit into `columns`. */
function unitsThatFit(text: string, columns: number): number {
  if (text.length <= columns && displayWidth(text) <= columns) return text.length;
  const seen = text.slice(0, Math.max(1, columns) * UNITS_A_COLUMN);
  let width = 0;
  for (const { segment, index } of graphemes(seen)) {
    width += displayWidth(segment);
    if (width > columns) return index;
  }
  return seen.length;
}

/** The text in at most `columns`, an ellipsis at the end where something is missing. */
export function clip(text: string, columns: number): string {
  if (unitsThatFit(text, columns) === text.length) return text;
  return columns < 1 ? '' : `${text.slice(0, unitsThatFit(text, columns - 1))}…`;
}

/** The end of the text in at most `columns`, an ellipsis in front of it where something is missing. */
export function tail(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const parts = [...graphemes(text.slice(-Math.max(1, columns) * UNITS_A_COLUMN))].map(
    ({ segment }) => segment,
  );
  let width = 1;
  let from = parts.length;
  while (from > 0 && width + displayWidth(parts[from - 1] ?? '') <= columns)
    width += displayWidth(parts[--from] ?? '');
  return columns < 1 ? '' : `…${parts.slice(from).join('')}`;
}

/** The text filled up with blanks to `columns`. */
export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)));

/**
 * Cuts what is longer than a row into rows, at blanks where there are any; the rest, which still fits, comes last.
 * Greedy, so that rows do not change when text is added behind the rest.
 */
export function wrap(text: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let rest = text;
  for (;;) {
    const fitting = unitsThatFit(rest, columns);
    if (fitting === rest.length) return [...rows, rest];
    // A character that is wider than a row gets a row all the same.
    const units = fitting > 0 ? fitting : (rest.codePointAt(0) ?? 0) > 0xffff ? 2 : 1;
    const blank = rest.charAt(units) === ' ' ? units : rest.lastIndexOf(' ', units - 1);
    const cut = blank > 0 ? blank : units;
    rows.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).replace(/^ /, '');
  }
}
