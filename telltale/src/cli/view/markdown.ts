import type { Palette } from '../../manifest/format-diagnostic.ts';
import { displayWidth } from '../../manifest/format-diagnostic.ts';
import { wrap } from './text-width.ts';

/**
 * Renders Markdown for a terminal line by line. A complete line never changes, so text can be shown while it streams.
 * Without colors, the marks of bold, code and headings stay, because nothing else would show them.
 */
export interface MarkdownRenderer {
  /** The rows of a complete line. Empty while a table waits for its next line. */
  line(text: string, columns: number): readonly string[];
  /** The rows of the current line, which is not complete yet. */
  open(text: string, columns: number): readonly string[];
  /** Ends the full rows of a long current line. `rest` is what remains of it; the line continues there. */
  cut(text: string, columns: number): { readonly rows: readonly string[]; readonly rest: string };
  /** The rows that are still held back at the end of the text. */
  end(columns: number): readonly string[];
}

export interface MarkdownOptions {
  readonly paint: Palette;
  /** Whether colors are on. */
  readonly color: boolean;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(\[[ xX]\]\s+)?(.*)$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ROW = /^\s*\|.*\|\s*$/;
const DIVIDER = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?$/;
const MAX_RULE = 40;
/** How many rows of a table are held back until its column widths are known. A longer table is shown unformatted. */
const MAX_TABLE = 200;

export function createMarkdown({ paint, color }: MarkdownOptions): MarkdownRenderer {
  let fence: string | undefined;
  let table: string[] = [];
  /** The prefix for the next row of the current line, if earlier rows of it were already ended. */
  let carry: string | undefined;

  /** Splits marked-up text into rows. `first` precedes the first row, `rest` the others. */
  const rows = (text: string, columns: number, first = '', rest = first): readonly string[] => {
    const room = Math.max(1, columns - displayWidth(first));
    return styledRows(text, room, { paint, color }).map((row, index) => (index === 0 ? first : rest) + row);
  };
  const block = (text: string, columns: number): readonly string[] => {
    if (carry !== undefined) return rows(text, columns, carry);
    if (RULE.test(text)) return [paint.dim('─'.repeat(Math.min(columns, MAX_RULE)))];
    const heading = HEADING.exec(text);
    if (heading !== null) {
      const [, marks = '', title = ''] = heading;
      if (!color) return wrap(text, columns);
      const tint = marks.length === 1 ? (row: string) => paint.bold(paint.cyan(row)) : paint.bold;
      return wrap(plainOf(title), columns).map(tint);
    }
    const item = ITEM.exec(text);
    if (item !== null) {
      const [, indent = '', mark = '', , box = '', said = ''] = item;
      const sign = /\d/.test(mark) ? mark : '•';
      const ticked = box === '' ? '' : /x/i.test(box) ? '☑ ' : '☐ ';
      const first = `${indent}${sign} ${ticked}`;
      return rows(said, columns, first, ' '.repeat(displayWidth(first)));
    }
    const quote = QUOTE.exec(text);
    if (quote !== null) return rows(quote[1] ?? '', columns, `${paint.dim('│')} `);
    return rows(text, columns);
  };
  const flush = (columns: number): readonly string[] => {
    const held = table;
    table = [];
    const [, divider] = held;
    const isTable = held.length > 1 && divider !== undefined && DIVIDER.test(divider);
    return isTable ? tableRows(held, columns, paint) : held.flatMap((row) => wrap(row, columns));
  };
  const code = (text: string, columns: number): readonly string[] =>
    wrap(text, Math.max(1, columns - 2)).map((row) => {
      if (row === '') return '';
      return `  ${color ? paint.cyan(row) : row}`;
    });

  const show = (text: string, columns: number): readonly string[] =>
    fence === undefined ? block(text, columns) : code(text, columns);

  return {
    line(text, columns) {
      if (carry !== undefined) {
        const rest = show(text, columns);
        carry = undefined;
        return rest;
      }
      const mark = FENCE.exec(text);
      if (fence !== undefined) {
        const isEnd = mark !== null && (mark[2] ?? '').trim() === '' && (mark[1] ?? '').startsWith(fence);
        if (isEnd) fence = undefined;
        else return code(text, columns);
        return color ? [] : [text];
      }
      if (ROW.test(text) && table.length < MAX_TABLE) {
        table.push(text);
        return [];
      }
      const before = flush(columns);
      if (mark !== null) {
        fence = mark[1] ?? '';
        const name = (mark[2] ?? '').trim();
        if (!color) return [...before, text];
        return name === '' ? before : [...before, paint.dim(`  ${name}`)];
      }
      return [...before, ...block(text, columns)];
    },
    open(text, columns) {
      if (carry !== undefined) return show(text, columns);
      if (fence !== undefined) return FENCE.test(text) ? [] : code(text, columns);
      const before = table.map((row) => wrap(row, columns)[0] ?? '').slice(-MAX_OPEN);
      return [...before, ...(FENCE.test(text) ? [] : block(text, columns))];
    },
    cut(text, columns) {
      const full = show(text, columns).length - 1;
      const isFenced = fence !== undefined;
      const place = lastPlace(text, isFenced, (part) => show(part, columns).length <= full);
      if (place === undefined) return { rows: [], rest: text };
      const before = [...flush(columns), ...show(text.slice(0, place), columns)];
      carry ??= isFenced ? '' : hangingIndent(text);
      return { rows: before, rest: text.slice(place).replace(/^ /, '') };
    },
    end(columns) {
      carry = undefined;
      fence = undefined;
      return flush(columns);
    },
  };
}

/**
 * The last blank up to which a line makes only full rows and leaves no mark open. Without such a blank, the last
 * position that does.
 */
function lastPlace(text: string, isFenced: boolean, isFull: (part: string) => boolean): number | undefined {
  let second: number | undefined;
  for (let at = text.lastIndexOf(' '); at > 0; at = text.lastIndexOf(' ', at - 1)) {
    const part = text.slice(0, at);
    if (!isFull(part)) continue;
    if (isFenced || !/[*_`[]/.test(part.replace(INLINE, ''))) return at;
    second ??= at;
  }
  return second ?? endOfFullRows(text, isFull);
}

/** In text without blanks, such as Japanese or a long address, a row ends at any character. */
function endOfFullRows(text: string, isFull: (part: string) => boolean): number | undefined {
  const characters = [...text];
  while (characters.length > 1) {
    characters.pop();
    const part = characters.join('');
    if (isFull(part)) return part.length;
  }
  return undefined;
}

/** The indentation of a list item's rows after the first. */
function hangingIndent(text: string): string {
  const [, indent = '', mark = ''] = ITEM.exec(text) ?? [];
  return mark === '' ? '' : ' '.repeat(indent.length + (/\d/.test(mark) ? mark.length : 1) + 1);
}

/** How many rows of an unfinished table are shown before it is laid out. */
const MAX_OPEN = 5;

type Style = 'bold' | 'code' | 'plain';
interface MarkdownSpan {
  readonly text: string;
  readonly style: Style;
}

/** `**bold**`, `*emphasis*`, `` `code` `` and `[text](address)`. Marks that are not closed are text. */
const INLINE =
  /(`+)(?!`)(.+?)(?<!`)\1(?!`)|\*\*(?=\S)(.+?)(?<=\S)\*\*|__(?=\S)(.+?)(?<=\S)__(?!\w)|(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])|(?<![\w_])_(?=[^\s_])([^_]+?)(?<=[^\s_])_(?![\w_])|\[([^\]]+)\]\(([^()\s]+)\)/g;

function spansOf(text: string): readonly MarkdownSpan[] {
  const spans: MarkdownSpan[] = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, ticks, code, strong, strong2, soft, soft2, label, address] = found;
    if (found.index > from) spans.push({ text: text.slice(from, found.index), style: 'plain' });
    if (ticks !== undefined) spans.push({ text: code ?? '', style: 'code' });
    else if (label !== undefined)
      spans.push({ text: label === address ? label : `${label} (${address})`, style: 'plain' });
    else spans.push({ text: strong ?? strong2 ?? soft ?? soft2 ?? '', style: 'bold' });
    from = found.index + all.length;
  }
  if (from < text.length) spans.push({ text: text.slice(from), style: 'plain' });
  return spans;
}

const plainOf = (text: string): string =>
  spansOf(text)
    .map((span) => span.text)
    .join('');

/** Wraps first and colors afterwards: a style that crosses the end of a row starts again in the next one. */
function styledRows(text: string, columns: number, { paint, color }: MarkdownOptions): readonly string[] {
  if (!color) return wrap(text, columns);
  const spans = spansOf(text);
  const plain = spans.map((span) => span.text).join('');
  let at = 0;
  return wrap(plain, columns).map((row) => {
    // Only blanks are dropped between two rows.
    const from = plain.indexOf(row, at);
    at = from + row.length;
    return paintedPart(spans, from, at, paint);
  });
}

/** The part of some spans between two positions in their text. */
function paintedPart(spans: readonly MarkdownSpan[], from: number, to: number, paint: Palette): string {
  let line = '';
  let start = 0;
  for (const { text, style } of spans) {
    const end = start + text.length;
    if (end > from && start < to)
      line += tinted(text.slice(Math.max(0, from - start), Math.max(0, to - start)), style, paint);
    start = end;
  }
  return line;
}

function tinted(text: string, style: Style, paint: Palette): string {
  if (text === '') return '';
  if (style === 'plain') return text;
  return style === 'bold' ? paint.bold(text) : paint.cyan(text);
}

const cellsOf = (row: string): readonly string[] =>
  row
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => plainOf(cell.trim().replaceAll('\\|', '|')));

/** A table in columns. If it is too wide, each column gets a share and cells wrap. */
function tableRows(held: readonly string[], columns: number, paint: Palette): readonly string[] {
  const all = held.filter((_, index) => index !== 1).map(cellsOf);
  const count = Math.max(...all.map((cells) => cells.length));
  const gap = 2;
  const natural = Array.from({ length: count }, (_, at) =>
    Math.max(1, ...all.map((cells) => displayWidth(cells[at] ?? ''))),
  );
  const widths = fitted(natural, Math.max(count, columns - gap * (count - 1)));
  return all.flatMap((cells, index) => {
    const wrapped = widths.map((width, at) => wrap(cells[at] ?? '', width));
    const height = Math.max(...wrapped.map((lines) => lines.length));
    const lines = Array.from({ length: height }, (_, line) =>
      wrapped
        .map((cell, at) => {
          const text = cell[line] ?? '';
          return text + ' '.repeat(Math.max(0, (widths[at] ?? 0) - displayWidth(text)));
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    );
    return index === 0
      ? [...lines.map(paint.bold), paint.dim(widths.map((w) => '─'.repeat(w)).join('  '))]
      : lines;
  });
}

/** Column widths that fit. The widest columns shrink first. */
function fitted(natural: readonly number[], room: number): readonly number[] {
  const widths = [...natural];
  for (let over = widths.reduce((sum, width) => sum + width, 0) - room; over > 0; over--) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 1) <= 1) break;
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
  return widths;
}
