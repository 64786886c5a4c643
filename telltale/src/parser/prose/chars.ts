/**
 * Character codes the parser looks for. The loops that most characters go through have them as numbers beside the
 * mark: an imported constant is looked up in its module each time, 4 % of the time at 4 characters a chunk.
 */
export const LF = 10;
export const CR = 13;
export const QUOTE = 34;
export const APOSTROPHE = 39;
export const CLOSE_PAREN = 41;
export const STAR = 42;
export const PLUS = 43;
export const COMMA = 44;
export const MINUS = 45;
export const DOT = 46;
export const SLASH = 47;
export const ZERO = 48;
export const NINE = 57;
export const LT = 60;
export const EQUALS = 61;
export const GT = 62;
export const OPEN_BRACKET = 91;
export const BACKSLASH = 92;
export const CLOSE_BRACKET = 93;
export const UNDERSCORE = 95;
export const BACKTICK = 96;
export const OPEN_BRACE = 123;
export const CLOSE_BRACE = 125;
export const TILDE = 126;

/** White space of the protocol: space, tab, CR, LF, and nothing else. */
export function isSpace(c: number): boolean {
  return c === 32 || c === 10 || c === 9 || c === 13;
}
