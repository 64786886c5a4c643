/** Ways to cut a turn. */
import fc from 'fast-check';

/** Sizes of chunks, used over and over; 0 is an empty push. */
export const chunkSizes: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 }),
);

export function chunksOf(input: string, sizes: readonly number[]): string[] {
  const useful = sizes.some((size) => size > 0) ? sizes : [1];
  const chunks: string[] = [];
  for (let at = 0, turn = 0; at < input.length; turn++) {
    const size = useful[turn % useful.length] ?? 1;
    chunks.push(input.slice(at, at + size));
    at += size;
  }
  return chunks;
}
