import { wrap } from './columns.ts';
import { harmlessLines } from './harmless.ts';

/** Who speaks: each is painted in its own way. */
export type Voice = 'thought' | 'response' | 'text';

export interface Row {
  readonly voice: Voice;
  readonly depth: number;
  readonly text: string;
}

/** Cuts text that comes in pieces into rows of a terminal. */
export interface Speech {
  /** Rows that are full, of all that came so far. */
  add(voice: Voice, depth: number, text: string, columns: number): readonly Row[];
  /** The row that is not full yet. */
  readonly open: Row | undefined;
  /** Ends that row. */
  close(): readonly Row[];
}

export function createSpeech(): Speech {
  let open: Row | undefined;
  /** Whether the next text begins an element of its own: the blanks in front of it say nothing. */
  let isFresh = true;

  const close = (): readonly Row[] => {
    const rows = open === undefined || open.text.trim() === '' ? [] : [open];
    open = undefined;
    isFresh = true;
    return rows;
  };

  return {
    add(voice, depth, text, columns) {
      const rows: Row[] =
        open !== undefined && (open.voice !== voice || open.depth !== depth) ? [...close()] : [];
      const whole = (open?.text ?? '') + (isFresh ? text.trimStart() : text);
      if (whole === '') return rows;
      isFresh = false;
      const lines = harmlessLines(whole).flatMap((line) => wrap(line, columns));
      const last = lines.pop() ?? '';
      rows.push(...lines.map((line) => ({ voice, depth, text: line })));
      open = { voice, depth, text: last };
      return rows;
    },
    get open() {
      return open;
    },
    close,
  };
}
