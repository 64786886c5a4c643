/** Cuts what a client sends into lines, one message each. */
export interface RequestLines {
  push(chunk: Uint8Array): void;
}

const LINE_FEED = 10;

/** Holds `maxBytes` at the most: a line that is longer is dropped up to its end, and `onTooLong` is told once. */
export function createRequestLines(
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): RequestLines {
  /** The beginning of a line whose end has not come: joined once, when it has. */
  let parts: Uint8Array[] = [];
  let size = 0;
  let isTooLong = false;

  const add = (part: Uint8Array) => {
    if (isTooLong) return;
    if (size + part.length > maxBytes) {
      isTooLong = true;
      parts = [];
      onTooLong();
      return;
    }
    parts.push(part);
    size += part.length;
  };
  const end = () => {
    const line = isTooLong ? '' : Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    size = 0;
    isTooLong = false;
    if (line !== '') onLine(line);
  };
  return {
    push(chunk) {
      for (let from = 0; from < chunk.length; ) {
        const found = chunk.indexOf(LINE_FEED, from);
        add(chunk.subarray(from, found === -1 ? chunk.length : found));
        if (found === -1) return;
        end();
        from = found + 1;
      }
    },
  };
}
