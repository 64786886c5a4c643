import { type ReferencePiece, readReferenceAt } from './reference.ts';

/**
 * Reads `$references` out of a text that arrives in pieces. Text leaves in the call that brought it, except from a
 * dollar on while it may still become a longer reference: never more than MAX_REFERENCE_LENGTH characters. However the
 * text is cut, the same pieces come out once adjacent text is joined.
 */
export interface ReferenceReader {
  push(chunk: string): ReferencePiece[];
  /** Says that the text is over; the reader can then be used for another. */
  end(): ReferencePiece[];
  /** Whether nothing is held back: a piece without a dollar would leave as it is. */
  isIdle(): boolean;
}

export function createReferenceReader(): ReferenceReader {
  let held = '';

  const read = (text: string, final: boolean): ReferencePiece[] => {
    const pieces: ReferencePiece[] = [];
    let from = 0;
    const textUpTo = (end: number) => {
      if (end > from) pieces.push({ kind: 'text', text: text.slice(from, end) });
    };
    held = '';
    for (let at = text.indexOf('$'); at !== -1; ) {
      if (text[at + 1] === '$') {
        textUpTo(at);
        pieces.push({ kind: 'dollar' });
        from = at + 2;
        at = text.indexOf('$', from);
        continue;
      }
      const { reference, end, open } = readReferenceAt(text, at);
      if (open && !final) {
        textUpTo(at);
        held = text.slice(at);
        return pieces;
      }
      if (reference !== undefined) {
        textUpTo(at);
        pieces.push({ kind: 'reference', ...reference });
        from = end;
      }
      at = text.indexOf('$', end);
    }
    textUpTo(text.length);
    return pieces;
  };

  return {
    push: (chunk) => (chunk === '' ? [] : read(held + chunk, false)),
    end: () => read(held, true),
    isIdle: () => held === '',
  };
}

/** The pieces of a whole text. */
export function parseReferences(text: string): readonly ReferencePiece[] {
  const reader = createReferenceReader();
  return joinText([...reader.push(text), ...reader.end()]);
}

/** Pieces with adjacent text joined into one. */
export function joinText(pieces: readonly ReferencePiece[]): readonly ReferencePiece[] {
  const joined: ReferencePiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { kind: 'text', text: last.text + piece.text };
    else joined.push(piece);
  }
  return joined;
}
