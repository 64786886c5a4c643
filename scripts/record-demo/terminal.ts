/** A run of characters in one color. */
export interface Span {
  readonly text: string;
  readonly style: string;
}

/** What a row showed from `from` to `to`, in seconds; `to` is undefined for what was there at the end. */
export interface Shown {
  readonly row: number;
  readonly spans: readonly Span[];
  readonly from: number;
  readonly to: number | undefined;
}

type Cell = readonly [character: string, style: string];

// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one
const ESCAPE = /\u001b\[([0-9;?]*)([A-Za-z])/y;
const STYLES: Readonly<Record<string, string>> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  36: 'cyan',
};

/** As much of a terminal as the command line uses: lines, colors, moving up, erasing to the end of line or screen. */
export class Terminal {
  readonly #columns: number;
  readonly #rows: Cell[][] = [[]];
  /** What each row shows now, and since when. */
  readonly #shown: { spans: readonly Span[]; from: number }[] = [];
  readonly #history: Shown[] = [];
  readonly #decoder = new TextDecoder();
  #row = 0;
  #column = 0;
  #style = '';

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(bytes: Uint8Array, seconds: number): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    for (let at = 0; at < text.length; ) {
      ESCAPE.lastIndex = at;
      const sequence = ESCAPE.exec(text);
      if (sequence !== null) {
        this.#escape(sequence[1] ?? '', sequence[2] ?? '');
        at += sequence[0].length;
        continue;
      }
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
      this.#put(character);
      at += character.length;
    }
    this.#note(seconds);
  }

  /** Everything that was shown, in order of its beginning. */
  end(): readonly Shown[] {
    const last = this.#shown.map(({ spans, from }, row) => ({ row, spans, from, to: undefined }));
    return [...this.#history, ...last]
      .filter(({ spans }) => spans.length > 0)
      .sort((a, b) => a.from - b.from);
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0;
    else if (character === '\n') this.#moveTo(this.#row + 1);
    else if (character >= ' ') {
      if (this.#column >= this.#columns) {
        this.#moveTo(this.#row + 1);
        this.#column = 0;
      }
      const row = this.#rows[this.#row] ?? [];
      while (row.length < this.#column) row.push([' ', '']);
      row[this.#column++] = [character, this.#style];
    }
  }

  #escape(parameters: string, command: string): void {
    if (command === 'A') this.#moveTo(this.#row - Number(parameters || 1));
    else if (command === 'K') this.#rows[this.#row]?.splice(this.#column);
    else if (command === 'J') {
      this.#rows[this.#row]?.splice(this.#column);
      for (const row of this.#rows.slice(this.#row + 1)) row.splice(0);
    } else if (command === 'm') this.#style = STYLES[parameters] ?? '';
  }

  #moveTo(row: number): void {
    this.#row = Math.max(0, row);
    while (this.#rows.length <= this.#row) this.#rows.push([]);
  }

  #note(seconds: number): void {
    for (const [row, cells] of this.#rows.entries()) {
      const spans = spansOf(cells);
      const before = this.#shown[row];
      if (before !== undefined && JSON.stringify(before.spans) === JSON.stringify(spans)) continue;
      if (before !== undefined && seconds > before.from) this.#history.push({ row, ...before, to: seconds });
      this.#shown[row] = { spans, from: seconds };
    }
  }
}

function spansOf(cells: readonly Cell[]): readonly Span[] {
  const spans: Span[] = [];
  for (const [character, style] of cells) {
    const last = spans.at(-1);
    if (last?.style === style) spans[spans.length - 1] = { text: last.text + character, style };
    else spans.push({ text: character, style });
  }
  return spans.some(({ text }) => text.trim() !== '') ? spans : [];
}
