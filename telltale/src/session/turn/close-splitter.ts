/**
 * Cuts the stream behind closing tags, so that what is on the log ends where an intent does: after a crash the model goes
 * on from there, and nothing it said is acted on twice or lost. What looks like a closing tag and is none costs a cut
 * and nothing else.
 */
export interface CloseSplitter {
  split(chunk: string): readonly string[];
}

export function createCloseSplitter(): CloseSplitter {
  /** Whether `</` has come and its `>` has not. */
  let closing = false;
  let endsWithLess = false;
  return {
    split(chunk) {
      if (endsWithLess && chunk.startsWith('/')) closing = true;
      endsWithLess = chunk.endsWith('<');
      if (!closing && !chunk.includes('</')) return [chunk];
      const pieces: string[] = [];
      let from = 0;
      for (let at = 0; ; ) {
        if (!closing) {
          const open = chunk.indexOf('</', at);
          if (open === -1) break;
          closing = true;
          at = open + 2;
        }
        const end = chunk.indexOf('>', at);
        if (end === -1) break;
        closing = false;
        at = end + 1;
        pieces.push(chunk.slice(from, at));
        from = at;
      }
      if (from < chunk.length) pieces.push(chunk.slice(from));
      return pieces;
    },
  };
}
