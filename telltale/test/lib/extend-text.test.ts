import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendText } from '../../src/lib/text.ts';

describe('a text that grows', () => {
  it('is what its pieces are, one behind the other, however long they are', () => {
    const piece = fc.oneof(fc.string({ maxLength: 8 }), fc.string({ minLength: 100, maxLength: 700 }));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(pieces.reduce(extendText, '')).toBe(pieces.join(''));
      }),
    );
  });
});
