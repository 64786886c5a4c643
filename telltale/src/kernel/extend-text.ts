/** A shorter text is left as it is: its pieces are few. */
const MIN_LAID_OUT = 128;

/** Matches at once. What has no effect the engine may leave out. */
const BEGINNING = /^/;

/** Has the engine lay a text out that was put together of pieces, by looking at it. */
export function layOut(text: string): void {
  BEGINNING.test(text);
}

/**
 * `text` with `piece` behind it. The engine keeps what is put together as a tree of its pieces until somebody looks into
 * it, at 32 bytes a piece: a text that grows for as long as a model speaks is laid out at each quarter of the way to twice
 * its length. So a piece costs a constant number of copies, and the tree is never more than a fifth of the text.
 */
export function extendText(text: string, piece: string): string {
  const longer = text + piece;
  if (longer.length >= MIN_LAID_OUT && quarterOf(longer.length) !== quarterOf(text.length)) layOut(longer);
  return longer;
}

/** Counts powers of two, and between them quarters of the way to the next. */
function quarterOf(length: number): number {
  const power = 31 - Math.clz32(length);
  return power * 4 + ((length >> (power - 2)) & 3);
}
