import { BACKTICK, isSpace, LF, LT, OPEN_BRACE, TILDE } from '../prose/chars.ts';

/** A body may still begin; the character belongs to what is before it. */
export const WAITING = 0;
/** The character is the body's `{`. */
export const BEGINS = 1;
/** No body; the character has to be looked at again. */
const NONE = 2;
/** The same, at a `<` behind nothing but white space. */
export const MAY_CLOSE = 3;
export type PreludeVerdict = 0 | 1 | 2 | 3;

const BEFORE_FENCE = 0;
const FENCE = 1;
const BEFORE_WORD = 2;
const WORD = 3;
const AFTER_WORD = 4;

/** What stands between `<action>` and the `{` of its body: white space and at most the opening of a fence. */
export interface Prelude {
  phase: number;
  mark: number;
  marks: number;
}

export function createPrelude(): Prelude {
  return { phase: BEFORE_FENCE, mark: 0, marks: 0 };
}

export function startPrelude(prelude: Prelude): void {
  prelude.phase = BEFORE_FENCE;
  prelude.marks = 0;
}

export function stepPrelude(prelude: Prelude, c: number): PreludeVerdict {
  switch (prelude.phase) {
    case BEFORE_FENCE:
      if (c === OPEN_BRACE) return BEGINS;
      if (isSpace(c)) return WAITING;
      if (c !== BACKTICK && c !== TILDE) return c === LT ? MAY_CLOSE : NONE;
      prelude.phase = FENCE;
      prelude.mark = c;
      prelude.marks = 1;
      return WAITING;
    case FENCE:
      if (c === prelude.mark) {
        prelude.marks++;
        return WAITING;
      }
      return prelude.marks < 3 ? NONE : afterMarks(prelude, c);
    case BEFORE_WORD:
      return afterMarks(prelude, c);
    case WORD:
      if (c === OPEN_BRACE) return BEGINS;
      if (isSpace(c)) prelude.phase = AFTER_WORD;
      else if (!isWord(c)) return NONE;
      return WAITING;
    default: // AFTER_WORD
      return c === OPEN_BRACE ? BEGINS : isSpace(c) ? WAITING : NONE;
  }
}

function afterMarks(prelude: Prelude, c: number): PreludeVerdict {
  if (c === OPEN_BRACE) return BEGINS;
  if (!isSpace(c) && !isWord(c)) return NONE;
  // The word stands on the fence's own line.
  prelude.phase = c === LF ? AFTER_WORD : isSpace(c) ? BEFORE_WORD : WORD;
  return WAITING;
}

function isWord(c: number): boolean {
  return c !== BACKTICK && c !== TILDE && c !== LT;
}
