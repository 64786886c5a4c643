import { RESERVED_ROOTS } from '../../conditions/templates/template.ts';

/** What the runtime resolves when a step runs: never an environment variable, in any form. */
const RUNTIME_ROOTS: ReadonlySet<string> = new Set(RESERVED_ROOTS);

export type Piece =
  | { readonly type: 'text'; readonly text: string; readonly start: number; readonly end: number }
  | {
      readonly type: 'env';
      readonly name: string;
      /** Behind `:-`. */
      readonly fallback: string | undefined;
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly type: 'wrong';
      readonly why: 'nested' | 'unclosed' | 'separator';
      readonly name: string;
      readonly start: number;
      readonly end: number;
    };

/** A name, and behind it the end or what shells put there; `${a.b}` and `${a ?? b}` are the runtime's to judge. */
const REFERENCE = /(?<!\$)(\$+)\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*(?=[}:=+?#%/^,@!-]|$)(?!\?\?)/g;

/**
 * Finds `${NAME}` and `${NAME:-default}`; a default reaches to the next `}`. Left alone as text: references to runtime
 * roots and to `items` (what a foreach names by `as`), anything else in `${…}` that does not begin with a name, and the escape `$${`, which stays as it is for
 * whoever reads the text later. Dollars before a brace come in pairs, as in `parseTemplate`.
 */
export function findEnvReferences(text: string, items: ReadonlySet<string>): readonly Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  const lastClose = text.lastIndexOf('}');
  const push = (piece: Piece) => {
    if (piece.start > done)
      pieces.push({ type: 'text', text: text.slice(done, piece.start), start: done, end: piece.start });
    pieces.push(piece);
    done = piece.end;
  };
  for (const match of text.matchAll(REFERENCE)) {
    const [matched, dollars = '', name = ''] = match;
    const isEscaped = dollars.length % 2 === 0;
    const start = match.index + dollars.length - 1;
    if (start < done || isEscaped || RUNTIME_ROOTS.has(name) || items.has(name)) continue;
    push(readReference(text, start, match.index + matched.length, name, lastClose));
  }
  if (done < text.length)
    pieces.push({ type: 'text', text: text.slice(done), start: done, end: text.length });
  return pieces;
}

function readReference(
  text: string,
  start: number,
  afterName: number,
  name: string,
  lastClose: number,
): Piece {
  if (text[afterName] === '}') return { type: 'env', name, fallback: undefined, start, end: afterName + 1 };
  const close = afterName > lastClose ? -1 : text.indexOf('}', afterName);
  if (close === -1) return { type: 'wrong', why: 'unclosed', name, start, end: afterName };
  const end = close + 1;
  if (!text.startsWith(':-', afterName)) return { type: 'wrong', why: 'separator', name, start, end };
  const fallback = text.slice(afterName + 2, close);
  if (fallback.includes('${')) return { type: 'wrong', why: 'nested', name, start, end };
  return { type: 'env', name, fallback, start, end };
}
