/**
 * Cuts text into pieces of `size` UTF-16 code units. A slice of 13 characters or more would be a view of the whole text
 * (and of its two-byte storage); by way of JSON each piece becomes a flat string of its own, in one byte a character
 * where that is enough: what a provider's `data: {…}` lines give.
 */
export function cut(text: string, size: number): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return flatten(pieces);
}

/** The same by the sizes that `next` gives, for cuts that no fixed size would make. */
export function cutUnevenly(text: string, next: () => number): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = Math.max(1, next());
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return flatten(pieces);
}

/** Each as a string of its own, laid out. */
const flatten = (pieces: readonly string[]): readonly string[] =>
  JSON.parse(JSON.stringify(pieces)) as string[];
