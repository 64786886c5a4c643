const ZERO = /^[\p{Mark}\p{Format}]+$/u;
/** Scripts and blocks that Unicode calls Wide or Fullwidth, and what is drawn as an emoji unless told otherwise. */
const WIDE =
  /^(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\u3000-\u303e\u3200-\u32ff\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Extended_Pictographic}.*\ufe0f|.*\u20e3)/u;
const HALFWIDTH = /^[\uff61-\uffdc]/u;

let segmenter: Intl.Segmenter | undefined;

/** Made at the first text that needs it: Node reads the tables of ICU for it, 10 ms. */
export function graphemes(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Columns that the text takes on a terminal: 2 for wide characters and emoji, 0 for marks that join the one before. */
export function displayWidth(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) {
    if (ZERO.test(segment)) continue;
    width += WIDE.test(segment) && !HALFWIDTH.test(segment) ? 2 : 1;
  }
  return width;
}
