/** Cuts a stream of bytes into lines. */
export interface MessageLines {
  /** False once a line is longer than the limit: nothing of it is kept, and nothing more is taken. */
  push(chunk: Uint8Array): boolean;
}

const LINE_FEED = 10;

/** Holds `maxBytes` at the most. Each line comes without its end, empty ones not at all. */
export function createMessageLines(maxBytes: number, onLine: (line: string) => void): MessageLines {
  /** The beginning of a line whose end has not come: joined once, when it has. */
  let parts: Uint8Array[] = [];
  let size = 0;
  let isOver = false;

  const finish = (last: Uint8Array) => {
    const line = Buffer.concat([...parts, last])
      .toString('utf8')
      .trim();
    parts = [];
    size = 0;
    if (line !== '') onLine(line);
  };
  return {
    push(chunk) {
      let from = 0;
      while (!isOver) {
        const end = chunk.indexOf(LINE_FEED, from);
        const part = chunk.subarray(from, end === -1 ? chunk.length : end);
        if (size + part.length > maxBytes) {
          isOver = true;
          parts = [];
        } else if (end === -1) {
          parts.push(part);
          size += part.length;
          return true;
        } else {
          finish(part);
          from = end + 1;
        }
      }
      return false;
    },
  };
}
