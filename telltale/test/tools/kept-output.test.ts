import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBoundedOutput } from '../../src/tools/output/output.ts';

const kept = (text: string, cuts: readonly number[], maxBytes: number) => {
  const output = createBoundedOutput(maxBytes);
  const bytes = Buffer.from(text);
  let from = 0;
  for (const cut of [
    ...cuts.map((each) => each % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ]) {
    output.push(bytes.subarray(from, cut));
    from = cut;
  }
  return output;
};

const texts = fc.string({ unit: 'grapheme', maxLength: 60 });
const cuts = fc.array(fc.nat(200), { maxLength: 8 });

test('however output is cut into chunks, the same is kept', () => {
  fc.assert(
    fc.property(texts, cuts, fc.integer({ min: 1, max: 80 }), (text, places, maxBytes) => {
      expect(kept(text, places, maxBytes).text()).toBe(kept(text, [], maxBytes).text());
    }),
  );
});

test('output that fits is kept as it is', () => {
  fc.assert(
    fc.property(texts, cuts, (text, places) => {
      const output = kept(text, places, Math.max(1, Buffer.byteLength(text)));
      expect(output.text()).toBe(text);
      expect(output.dropped).toBe(0);
    }),
  );
});

test('of more, its beginning and its end are kept, and no character is cut in two', () => {
  fc.assert(
    fc.property(texts, cuts, fc.integer({ min: 1, max: 40 }), (text, places, maxBytes) => {
      const bytes = Buffer.byteLength(text);
      fc.pre(bytes > maxBytes && !text.includes('\ufffd'));
      const output = kept(text, places, maxBytes);
      const [head = '', tail = ''] = output.text().split(`\n… [${bytes - maxBytes} bytes left out] …\n`);
      expect(text.startsWith(head)).toBe(true);
      expect(text.endsWith(tail)).toBe(true);
      expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeGreaterThan(maxBytes - 7);
      expect(output.total).toBe(bytes);
    }),
  );
});
