import { isSpace, LF, SLASH, STAR } from '../prose/chars.ts';

const HASH = 35;

/** Where the text of almost-JSON stands in a comment, whose pieces come one after the other. */
export interface CommentScan {
  /** `slash`: one was read that may begin a comment. `star`: one was read that may end a block. */
  state: 'none' | 'slash' | 'line' | 'block' | 'star';
  /** Whether white space came before: only then is `#` a comment. */
  isSpaced: boolean;
}

export const createCommentScan = (): CommentScan => ({ state: 'none', isSpaced: true });

/** Whether `c`, outside of strings, may begin a comment; it belongs to it then. */
export function beginComment(comment: CommentScan, c: number): boolean {
  if (c === SLASH) comment.state = 'slash';
  else if (c === HASH && comment.isSpaced) comment.state = 'line';
  comment.isSpaced = isSpace(c);
  return comment.state !== 'none';
}

/** Reads on in a comment, and returns where that ends; undefined where a slash began none. */
export function readComment(comment: CommentScan, chunk: string, from: number): number | undefined {
  for (let at = from; at < chunk.length; at++) {
    const c = chunk.charCodeAt(at);
    if (comment.state === 'slash') {
      if (c !== SLASH && c !== STAR) {
        comment.state = 'none';
        return undefined;
      }
      comment.state = c === SLASH ? 'line' : 'block';
    } else if (comment.state === 'line' ? c === LF : comment.state === 'star' && c === SLASH) {
      comment.state = 'none';
      comment.isSpaced = true;
      return at + 1;
    } else if (comment.state !== 'line') comment.state = c === STAR ? 'star' : 'block';
  }
  return chunk.length;
}
