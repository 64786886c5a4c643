import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitAtCloses } from '../../src/agent/turn/turn-stream.ts';
import { moreRuns } from '../more-runs.ts';

const split = (chunks: readonly string[]) => {
  const splitter = { closing: false, endsWithLess: false };
  return chunks.flatMap((chunk) => splitAtCloses(splitter, chunk) ?? [chunk]);
};

/** Where a closing tag ends: behind the first `>` after each `</` that is not inside another one. */
function ends(text: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf('</'); at !== -1; at = text.indexOf('</', at)) {
    const end = text.indexOf('>', at);
    if (end === -1) break;
    found.push(end + 1);
    at = end + 1;
  }
  return found;
}

describe('the stream is cut behind closing tags', () => {
  const text = fc.string();
  const tags = fc.string({ unit: fc.constantFrom('<', '/', '>', 'a', '</a>', ' ') });

  it('however it is chunked, nothing is lost and every end of a closing tag is the end of a piece', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(text, tags), { maxLength: 12 }), (chunks) => {
        const whole = chunks.join('');
        const pieces = split(chunks);
        expect(pieces.join('')).toBe(whole);
        const cuts = new Set<number>();
        let at = 0;
        for (const piece of pieces) {
          at += piece.length;
          cuts.add(at);
        }
        for (const end of ends(whole)) expect(cuts).toContain(end);
      }),
      { numRuns: moreRuns(1_000) },
    );
  });

  it('a chunk without a closing tag stays as it is', () => {
    expect(split(['a > b', '<x>', 'c'])).toEqual(['a > b', '<x>', 'c']);
  });

  it('a closing tag may lie across chunks', () => {
    expect(split(['{}<', '/act', 'ion>x'])).toEqual(['{}<', '/act', 'ion>', 'x']);
    expect(split(['{}<', '', '/a>x'])).toEqual(['{}<', '', '/a>', 'x']);
  });
});
