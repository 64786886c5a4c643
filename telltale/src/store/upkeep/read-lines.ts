import { importMalformed } from './upkeep-errors.ts';

export interface NumberedLine {
  /** From 1 on. */
  readonly number: number;
  readonly text: string;
}

/** Above the largest event that a log takes, and what a line puts around it. */
const MAX_LINE_BYTES = 96 * 1024 * 1024;
const LINE_FEED = 10;

/** Lines of UTF-8, without their ends. A line that is too long is refused before all of it is in memory. */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<NumberedLine, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  const hold = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes > maxBytes) throw importMalformed(number, `It is longer than ${maxBytes} bytes.`);
    if (part.length > 0) parts.push(part);
  };
  const take = (): NumberedLine => {
    const whole = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    const line = { number, text: decoded(whole, number) };
    parts = [];
    bytes = 0;
    number++;
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
      hold(piece.subarray(from, at));
      yield take();
      from = at + 1;
    }
    hold(piece.subarray(from));
  }
  if (bytes > 0) yield take();
}

function decoded(bytes: Uint8Array, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: number !== 1 })
      .decode(bytes)
      .replace(/\r$/, '');
  } catch {
    throw importMalformed(number, 'It is no text in UTF-8.');
  }
}
