import { added, NONE } from '../../kernel/grow.ts';

/**
 * Cuts the stream behind closing tags, so that what is on the log ends where an intent does: after a crash the model goes
 * on from there, and nothing it said is acted on twice or lost. What looks like a closing tag and is none costs a cut
 * and nothing else.
 */
export interface CloseSplitter {
  /** Whether `</` has come and its `>` has not. */
  closing: boolean;
  endsWithLess: boolean;
}

export function renewCloseSplitter(splitter: CloseSplitter): void {
  splitter.closing = false;
  splitter.endsWithLess = false;
}

/** The pieces of a chunk; undefined where it is one piece. */
export function splitAtCloses(splitter: CloseSplitter, chunk: string): readonly string[] | undefined {
  if (chunk === '') return undefined;
  if (splitter.endsWithLess && chunk.startsWith('/')) splitter.closing = true;
  splitter.endsWithLess = chunk.endsWith('<');
  if (!splitter.closing && !chunk.includes('</')) return undefined;
  let pieces: readonly string[] = NONE;
  let from = 0;
  for (let at = 0; ; ) {
    if (!splitter.closing) {
      const open = chunk.indexOf('</', at);
      if (open === -1) break;
      splitter.closing = true;
      at = open + 2;
    }
    const end = chunk.indexOf('>', at);
    if (end === -1) break;
    splitter.closing = false;
    at = end + 1;
    pieces = added(pieces, chunk.slice(from, at));
    from = at;
  }
  return from < chunk.length ? added(pieces, chunk.slice(from)) : pieces;
}
