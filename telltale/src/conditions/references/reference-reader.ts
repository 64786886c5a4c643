import { type Reference, readReferenceAt } from './reference.ts';

export type ReferencePiece =
  | { readonly kind: 'text'; readonly text: string }
  | ({ readonly kind: 'reference' } & Reference)
  /** `$$name`, read as the reference behind its first dollar: where the name is known, one dollar is dropped. */
  | ({ readonly kind: 'escaped' } & Reference);

/**
 * Reads the `$references` of a response, which arrives in pieces. Text leaves in the call that brought it, except from a
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
      // Of several dollars, the last two may be an escaped reference. Those before them are text.
      const dollar = text[at + 1] === '$' ? at + 1 : at;
      const { reference, end, open } =
        dollar > at && text[at + 2] === '$'
          ? { reference: undefined, end: dollar, open: false }
          : readReferenceAt(text, dollar, at);
      if (open && !final) {
        textUpTo(at);
        held = text.slice(at);
        return pieces;
      }
      if (reference !== undefined) {
        textUpTo(at);
        pieces.push({ kind: dollar > at ? 'escaped' : 'reference', ...reference });
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
