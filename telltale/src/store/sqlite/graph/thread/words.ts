const WORD = /[\p{L}\p{N}\p{M}_$]+/gu;
/** Where a word of an identifier ends: `tag|Parser`, `HTML|Parser`, `utf|8`, `8|bit`. */
const SEAM =
  /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})|[_$]+/u;
/** Scripts that put no space between words: each character counts as one. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu;
const ASCII = /^[\0-\x7f]*$/;
const NO_WORD = /[^\p{L}\p{N}]/gu;
const MAX_WORD_CHARS = 64;

/** A word of a text: `createTagParser` is `createtagparser` with the parts `create`, `tag` and `parser`. */
export interface Word {
  readonly whole: string;
  /** Two or more, or none. */
  readonly parts: readonly string[];
}

/** The words of any text, at most `limit`; of each the whole and its parts, all of letters and digits only. */
export function wordsOf(text: string, limit: number): readonly Word[] {
  const words: Word[] = [];
  const spaced = ASCII.test(text) ? text : text.replace(UNSPACED, ' $& ');
  for (const [found] of spaced.matchAll(WORD)) {
    if (words.length >= limit) break;
    const parts: string[] = [];
    for (const piece of found.slice(0, MAX_WORD_CHARS).split(SEAM)) {
      const part = fold(piece);
      if (part !== '') parts.push(part);
    }
    if (parts.length > 0) words.push({ whole: parts.join(''), parts: parts.length > 1 ? parts : [] });
  }
  return words;
}

/** As the index folds them, so that what it finds can be compared: lower case, without accents. */
const fold = (piece: string): string =>
  ASCII.test(piece) ? piece.toLowerCase() : piece.normalize('NFKD').toLowerCase().replace(NO_WORD, '');

/** What is put into the index for a text: its words, and their parts. */
export function indexed(text: string, limit: number): string {
  let out = '';
  for (const { whole, parts } of wordsOf(text, limit)) {
    out += ` ${whole}`;
    for (const part of parts) out += ` ${part}`;
  }
  return out;
}
