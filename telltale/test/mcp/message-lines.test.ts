import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMessageLines } from '../../src/mcp/message-lines.ts';

const cut = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...chunks, bytes.subarray(from)];
};

test('however the stream is cut, the same lines come out', () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !/[\n\r]/.test(text));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(10)), fc.constantFrom('\n', '\r\n'), (texts, sizes, end) => {
      const lines: string[] = [];
      const reader = createMessageLines(1_000, (text) => lines.push(text));
      for (const chunk of cut(Buffer.from(texts.map((text) => text + end).join('')), sizes))
        expect(reader.push(chunk)).toBe(true);
      expect(lines).toEqual(texts.map((text) => text.trim()).filter((text) => text !== ''));
    }),
  );
});

test('a line that is too long ends it, whether or not its end has come', () => {
  for (const chunks of [['x'.repeat(11)], ['x'.repeat(6), 'x'.repeat(5)], [`${'x'.repeat(11)}\n`]]) {
    const lines: string[] = [];
    const reader = createMessageLines(10, (text) => lines.push(text));
    expect(reader.push(Buffer.from('short\n'))).toBe(true);
    expect(chunks.map((chunk) => reader.push(Buffer.from(chunk))).at(-1)).toBe(false);
    expect(reader.push(Buffer.from('more\n'))).toBe(false);
    expect(lines).toEqual(['short']);
  }
});
