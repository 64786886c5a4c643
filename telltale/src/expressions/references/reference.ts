import type { PathSegment } from '../issue.ts';

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

/** `$name`, `$name.path[0].to` or `{{name.path}}` as it stands in a text. */
export interface Reference {
  readonly name: string;
  readonly path: readonly PathSegment[];
  /** As it is written. */
  readonly source: string;
}

/** Characters of a reference, and of what a reader holds back while one may still go on. A longer one is text. */
export const MAX_REFERENCE_LENGTH = 256;

const NAME = '[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*';
const PATH = String.raw`((?:\.${NAME}|\[\d{1,9}\])*)`;
const REFERENCE = new RegExp(String.raw`\$(${NAME})${PATH}`, 'y');
const INSERTION = new RegExp(String.raw`\{\{(${NAME})${PATH}\}\}`, 'g');
/** What may follow a reference and turn out to be its next step, or only text: `see $report.` */
const UNDECIDED = /(?:-|\.|\[\d{0,9})/y;
const STEP = new RegExp(String.raw`\.(${NAME})|\[(\d+)\]`, 'g');

export interface ReferenceAt {
  /** Undefined where the dollar begins no reference. */
  readonly reference: Reference | undefined;
  /** Where what was read ends. */
  readonly end: number;
  /** Whether more text could change what was read. */
  readonly open: boolean;
}

/**
 * Reads a reference at the dollar that stands at `at`. `from` is where a reader began to hold text back for it: its
 * length counts from there. Linear: no step is tried twice.
 */
function readReferenceAt(text: string, at: number, from = at): ReferenceAt {
  REFERENCE.lastIndex = at;
  const found = REFERENCE.exec(text);
  if (found === null) return { reference: undefined, end: at + 1, open: at + 1 === text.length };
  const end = at + found[0].length;
  UNDECIDED.lastIndex = end;
  const reach = end + (UNDECIDED.exec(text)?.[0].length ?? 0);
  if (reach - from > MAX_REFERENCE_LENGTH) return { reference: undefined, end, open: false };
  return { reference: toReference(found), end, open: reach === text.length };
}

/** A whole text as a reference, or undefined if it is none. */
export function readWholeReference(text: string): Reference | undefined {
  if (!text.startsWith('$')) return undefined;
  const { reference, end } = readReferenceAt(text, 0);
  return end === text.length ? reference : undefined;
}

/** Where each `{{name.path}}` of a text begins. Linear: what begins no insertion is passed over once. */
export function* readInsertions(text: string): Iterable<Reference & { readonly at: number }> {
  for (const found of text.matchAll(INSERTION))
    if (found[0].length <= MAX_REFERENCE_LENGTH) yield { ...toReference(found), at: found.index };
}

function toReference([source, name = '', steps = '']: RegExpExecArray): Reference {
  const path: PathSegment[] = [];
  for (const [, key, index] of steps.matchAll(STEP)) path.push(key ?? Number(index));
  return { name, path, source };
}
