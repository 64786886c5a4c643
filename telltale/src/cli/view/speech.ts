import { wrap } from './columns.ts';
import { harmlessLines } from './harmless.ts';
import { jsonRows } from './json-rows.ts';
import { createMarkdown, type MarkdownOptions } from './markdown.ts';

/** Who speaks: each is painted in its own way. */
export type Voice = 'thought' | 'response' | 'text';

export interface Row {
  readonly voice: Voice;
  readonly depth: number;
  readonly text: string;
}

/** Cuts text that comes in pieces into rows of a terminal. Thoughts and answers are Markdown; an answer may be JSON. */
export interface Speech {
  /** Rows that will not change any more, of all that came so far. */
  add(voice: Voice, depth: number, text: string, columns: number): readonly Row[];
  /** The rows that still change. */
  open(): readonly Row[];
  /** Ends those. */
  close(): readonly Row[];
}

/** Rows of one line that still change, at the most: beyond them those that are full are done. */
const MAX_OPEN = 8;
/** Rows of JSON that are shown of an answer, and while it is still being written. */
const MAX_JSON = 40;
const MAX_OPEN_JSON = 3;

/** What begins like JSON, or may: `[text](address)` does not. */
const MAY_BE_JSON = /^[{[]\s*$|^\{\s*"|^\[\s*(?:[[{"\d\]-]|true\b|false\b|null\b)/;

export function createSpeech(options: MarkdownOptions): Speech {
  const markdown = createMarkdown(options);
  let open: { readonly voice: Voice; readonly depth: number; text: string; columns: number } | undefined;
  /** Whether the next text begins an element of its own: the blanks in front of it say nothing. */
  let isFresh = true;
  /** Whether what is open may be JSON: it is shown when it is whole. */
  let isJson = false;

  const rowsOf = (texts: readonly string[]): readonly Row[] => {
    const { voice = 'text', depth = 0 } = open ?? {};
    return texts.map((text) => ({ voice, depth, text }));
  };
  /** Takes lines that are over, and the beginning of the next one. */
  const take = (text: string): readonly string[] => {
    if (open === undefined) return [];
    const { columns } = open;
    const lines = [...harmlessLines(open.text + text)];
    open.text = lines.pop() ?? '';
    const rows = lines.flatMap((line) => markdown.line(line, columns));
    if (open.text.length <= columns || markdown.open(open.text, columns).length <= MAX_OPEN) return rows;
    const cut = markdown.cut(open.text, columns);
    open.text = cut.rest;
    return [...rows, ...cut.rows];
  };
  /** Word by word where it is long: then it makes no difference in which pieces it came. */
  const takeAll = (text: string): readonly string[] => {
    const { length } = text;
    if (open === undefined || open.text.length + length <= open.columns * MAX_OPEN) return take(text);
    return text.split(/(?<=[ \n])/).flatMap(take);
  };

  const close = (): readonly Row[] => {
    if (open === undefined) {
      isFresh = true;
      return [];
    }
    const { text, columns } = open;
    let texts: readonly string[];
    if (isJson) {
      const json = jsonRows(parsed(text), columns, MAX_JSON, options);
      isJson = false;
      open.text = '';
      texts = json ?? [...takeAll(text), ...ended()];
    } else texts = ended();
    const rows = rowsOf(texts);
    open = undefined;
    isFresh = true;
    return rows;
  };
  const ended = (): readonly string[] => {
    if (open === undefined) return [];
    const { text, columns } = open;
    const rows = text.trim() === '' ? [] : markdown.line(text, columns);
    return [...rows, ...markdown.end(columns)];
  };

  return {
    add(voice, depth, text, columns) {
      const rows: Row[] =
        open !== undefined && (open.voice !== voice || open.depth !== depth) ? [...close()] : [];
      const fresh = isFresh ? text.trimStart() : text;
      if (fresh === '' && open === undefined) return rows;
      if (isFresh) isJson = voice === 'response';
      isFresh = false;
      open ??= { voice, depth, text: '', columns };
      open.columns = columns;
      if (isJson) {
        open.text += fresh;
        if (MAY_BE_JSON.test(open.text)) return rows;
        isJson = false;
        const held = open.text;
        open.text = '';
        return [...rows, ...rowsOf(takeAll(held))];
      }
      return [...rows, ...rowsOf(takeAll(fresh))];
    },
    open() {
      if (open === undefined) return [];
      const { text, columns } = open;
      if (!isJson) return rowsOf(markdown.open(text, columns));
      const rows = harmlessLines(text.slice(-columns * MAX_OPEN_JSON)).flatMap((line) => wrap(line, columns));
      return rowsOf(rows.slice(-MAX_OPEN_JSON));
    },
    close,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // it only looked like JSON
  }
}
