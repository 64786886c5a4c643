import { stripVTControlCharacters } from 'node:util';
import { displayWidth } from '../../manifest/display-width.ts';
import type { Frame } from './live-screen.ts';

/** Remembers what stands at the bottom of a terminal, and says what to write so that something else does. */
export interface Painter {
  /** The sequence that turns what the last frame left into this one. The cursor stays at the end of its last line. */
  paint(frame: Frame, columns: number): string;
  /** The sequence that takes the live lines away; the cursor is then at the start of an empty line. */
  clear(columns: number): string;
  /** Tells that a person ended the last line by pressing Enter. */
  entered(): void;
}

const LINE_END = '\u001b[K';
const BELOW = '\u001b[J';
const up = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

export function createPainter(): Painter {
  /** Columns of each live line as it was drawn. */
  let drawn: readonly number[] = [];
  let entered = 0;

  /** To the start of the first live line; a terminal that was made narrower has wrapped some of them. */
  const home = (columns: number): string => {
    const rows = drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return `\r${up(Math.max(0, rows - 1) + entered)}`;
  };

  return {
    paint({ done, live }, columns) {
      const start = home(columns);
      drawn = live.map((line) => displayWidth(stripVTControlCharacters(line)));
      entered = 0;
      const ended = done.map((line) => `${line}${LINE_END}\n`).join('');
      return `${start}${ended}${live.join(`${LINE_END}\n`)}${BELOW}`;
    },
    clear(columns) {
      const start = home(columns);
      drawn = [];
      entered = 0;
      return `${start}${BELOW}`;
    },
    entered() {
      entered++;
    },
  };
}
