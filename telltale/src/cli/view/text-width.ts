import { stripVTControlCharacters } from 'node:util';
import type { Json } from '../../lib/json.ts';
import { displayWidth, graphemes } from '../../manifest/format-diagnostic.ts';
import { harmlessLine } from './harmless.ts';

/** How many code units are read per column of a short text. Blanks and escape sequences take no column. */
const UNITS_A_COLUMN = 4;

/**
 * A value on one line of at most `columns`: text as text, anything else as JSON. A huge value costs no more than a
 * short one.
 */
export function brief(value: Json, columns: number): string {
  const units = columns * UNITS_A_COLUMN;
  const text = typeof value === 'string' ? value.slice(0, units) : jsonUpTo(value, units);
  const line = harmlessLine(text);
  const isCut = typeof value === 'string' && value.length > units;
  return clip(isCut && line.length < columns ? `${line}…` : line, columns);
}

/** The fields of an object as `name=value`, on one line. */
export function briefFields(fields: { readonly [name: string]: Json }, columns: number): string {
  const parts: string[] = [];
  let length = 0;
  for (const [name, value] of Object.entries(fields)) {
    if (length > columns) break;
    const part = `${brief(name, columns)}=${typeof value === 'string' ? quote(value, columns) : brief(value, columns)}`;
    parts.push(part);
    length += part.length + 1;
  }
  return clip(parts.join(' '), columns);
}

const quote = (text: string, columns: number): string =>
  /^[\w./:@%+,-]+$/.test(text) ? brief(text, columns) : `"${brief(text, columns)}"`;

/** JSON that stops soon after `units` code units. Every level and value counts as at least one. */
function jsonUpTo(value: Json, units: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, Math.max(1, units)));
  if (value === null || typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  for (const key in value) {
    const left = units - text.length;
    if (left <= 0) return `${text}…`;
    const each = (value as Readonly<Record<string, Json>>)[key] as Json;
    text += text.length === 1 ? '' : ',';
    text += isList ? jsonUpTo(each, left) : `${jsonUpTo(key, left)}:${jsonUpTo(each, left - 1)}`;
  }
  return text + (isList ? ']' : '}');
}

/** How many code units are read per column, so that zero-width marks do not make the search long. */
const CODE_UNITS_A_COLUMN = 8;

/** How many code units from the start of the text fit into `columns`. */
function unitsThatFit(text: string, columns: number): number {
  if (text.length <= columns && displayWidth(text) <= columns) return text.length;
  const seen = text.slice(0, Math.max(1, columns) * CODE_UNITS_A_COLUMN);
  let width = 0;
  for (const { segment, index } of graphemes(seen)) {
    width += displayWidth(segment);
    if (width > columns) return index;
  }
  return seen.length;
}

/** Cuts the text to `columns`, with an ellipsis at the end if something is missing. */
export function clip(text: string, columns: number): string {
  if (unitsThatFit(text, columns) === text.length) return text;
  return columns < 1 ? '' : `${text.slice(0, unitsThatFit(text, columns - 1))}…`;
}

/** The end of the text in `columns`, with a leading ellipsis if something is missing. */
export function tail(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const parts = [...graphemes(text.slice(-Math.max(1, columns) * CODE_UNITS_A_COLUMN))].map(
    ({ segment }) => segment,
  );
  let width = 1;
  let from = parts.length;
  while (from > 0 && width + displayWidth(parts[from - 1] ?? '') <= columns)
    width += displayWidth(parts[--from] ?? '');
  return columns < 1 ? '' : `…${parts.slice(from).join('')}`;
}

/** Pads the text to `columns`. */
export const padded = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)));

/**
 * Wraps a long line into rows, at blanks if possible. The last row has room left. It is greedy, so rows don't change
 * when text is appended.
 */
export function wrap(text: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let rest = text;
  for (;;) {
    const fitting = unitsThatFit(rest, columns);
    if (fitting === rest.length) return [...rows, rest];
    // A character that is wider than a row still gets a row.
    const units = fitting > 0 ? fitting : (rest.codePointAt(0) ?? 0) > 0xffff ? 2 : 1;
    const blank = rest.charAt(units) === ' ' ? units : rest.lastIndexOf(' ', units - 1);
    const cut = blank > 0 ? blank : units;
    rows.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).replace(/^ /, '');
  }
}

/** `See: telltale logs ses_…`: what follows a few words and a colon, and ends without a full stop. */
const COMMAND_AT_END = /(?:^|[ →(])[A-Z][^:.]*: ([^:]*[^.!?:\]])$/;

/**
 * A sentence in rows of at most `columns`, further rows as far to the right as its text. A command at its end stays in
 * one piece, so that it can be copied, and so does whatever has no blanks. Escape sequences take no room.
 */
function sentenceRows(line: string, columns: number): readonly string[] {
  if (shownWidth(line) <= columns) return [line];
  const bare = stripVTControlCharacters(line);
  const indent = ' '.repeat(displayWidth(/^ *(?:→ )?/.exec(bare)?.[0] ?? ''));
  const text = line.trimStart();
  const found = COMMAND_AT_END.exec(bare)?.[1] ?? '';
  const command = text.endsWith(found) ? found : '';
  const words = text
    .slice(0, text.length - command.length)
    .trimEnd()
    .split(' ');
  const rows: string[] = [];
  let row = line.slice(0, line.length - text.length);
  for (const word of command === '' ? words : [...words, command]) {
    if (row.trim() === '') row += word;
    else if (shownWidth(row) + 1 + shownWidth(word) <= columns) row += ` ${word}`;
    else {
      rows.push(row);
      row = indent + word;
    }
  }
  return [...rows, row];
}

const shownWidth = (text: string): number => displayWidth(stripVTControlCharacters(text));

/** Sentences for a terminal; undefined `columns` is a pipe, and leaves them as they are. */
export const sentences = (lines: readonly string[], columns: number | undefined): readonly string[] =>
  columns === undefined ? lines : lines.flatMap((line) => sentenceRows(line, columns - 1));

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Gets shorter on a narrow terminal, or a row of its own where too little is left. Only one column may. */
  readonly gives?: true;
}

type Paint = (text: string, row: number, column: number) => string;

const GAP = '  ';
/** A column with less room than this says nothing. */
const LEAST = 12;
const BELOW = '    ';

/**
 * A table of texts without control sequences. `columns` is the terminal's width. If undefined, nothing is shortened.
 */
export function tableLines(
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  { columns, paint = (text) => text }: { readonly columns?: number | undefined; readonly paint?: Paint },
): readonly string[] {
  const widths = head.map(({ title }, at) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[at] ?? '')), displayWidth(title)),
  );
  const giving = head.findIndex(({ gives }) => gives === true);
  const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  let below = -1;
  if (columns !== undefined && giving !== -1 && total >= columns) {
    const wanted = widths[giving] ?? 0;
    const room = wanted - (total - columns + 1);
    if (room < Math.min(LEAST, wanted)) below = giving;
    else widths[giving] = room;
  }
  const line = (cells: readonly string[], row: number) =>
    head
      .flatMap(({ align }, at) => {
        if (at === below) return [];
        const width = widths[at] ?? 0;
        const text = clip(cells[at] ?? '', width);
        const blank = padded('', width - displayWidth(text));
        const painted = paint(text, row, at);
        return [align === 'right' ? blank + painted : painted + (at === head.length - 1 ? '' : blank)];
      })
      .join(GAP)
      .trimEnd();
  const lineBelow = (cells: readonly string[], row: number): readonly string[] => {
    const text = below === -1 ? '' : clip(cells[below] ?? '', (columns ?? 0) - BELOW.length - 1);
    return text === '' ? [] : [BELOW + paint(text, row, below)];
  };
  return [
    line(
      head.map(({ title }) => title),
      -1,
    ),
    ...rows.flatMap((row, at) => [line(row, at), ...lineBelow(row, at)]),
  ];
}
