import { displayWidth } from '../../src/manifest/format-diagnostic.ts';

/** A terminal as far as the live view uses one: enough to see what a person would see. */
export interface Terminal {
  write(text: string): void;
  /** Every line from the first on, what has scrolled off included, without blanks at the end. */
  lines(): readonly string[];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal reads
const PIECES = /\u001b\[(\d*)([A-Za-z])|[\r\n]|[^\u001b\r\n]+/gu;

/** Throws on every sequence it does not know: a view that sends others is wrong. */
export function createTerminal(columns: number, rows = 24): Terminal {
  const screen: string[] = [''];
  let row = 0;
  let column = 0;
  const put = (character: string) => {
    const width = displayWidth(character);
    if (column + width > columns) {
      row++;
      column = 0;
    }
    while (screen.length <= row) screen.push('');
    const line = (screen[row] ?? '').padEnd(column);
    screen[row] = cut(line, column) + character + after(line, column + width);
    column += width;
  };
  return {
    write(text) {
      let read = 0;
      for (const match of text.matchAll(PIECES)) {
        const [piece, amount, command] = match;
        read += piece.length;
        if (command === 'A') {
          const top = Math.max(0, screen.length - rows);
          if (row - Number(amount || 1) < top)
            throw new Error(`The cursor leaves the screen: row ${row}, up ${amount}`);
          row -= Number(amount || 1);
        } else if (command === 'K') screen[row] = cut(screen[row] ?? '', column);
        else if (command === 'J') {
          screen[row] = cut(screen[row] ?? '', column);
          screen.length = row + 1;
        } else if (command === 'm') continue;
        else if (command !== undefined) throw new Error(`An unknown sequence: ${JSON.stringify(piece)}`);
        else if (piece === '\r') column = 0;
        else if (piece === '\n') {
          row++;
          column = 0;
          while (screen.length <= row) screen.push('');
        } else for (const { segment } of new Intl.Segmenter().segment(piece)) put(segment);
      }
      if (read !== text.length) throw new Error(`Not understood: ${JSON.stringify(text)}`);
    },
    lines: () => screen.map((line) => line.trimEnd()),
  };
}

function cut(line: string, columns: number): string {
  let width = 0;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (width >= columns) break;
    width += displayWidth(segment);
    kept += segment;
  }
  return kept;
}

const after = (line: string, columns: number): string => line.slice(cut(line, columns).length);
