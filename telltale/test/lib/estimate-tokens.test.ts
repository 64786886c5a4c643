import fc from 'fast-check';
import { expect, it } from 'vitest';
import { estimateTokens } from '../../src/lib/tokens.ts';

it('four characters are a token, and what is left of one is a whole one', () => {
  expect(['', 'a', 'abcd', 'abcde'].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});

it('accented, Greek and Cyrillic letters count as letters do', () => {
  expect(['über', 'λόγο', 'слов'].map(estimateTokens)).toEqual([1, 1, 1]);
});

it('Chinese, Japanese and Korean characters and emoji are a token each', () => {
  expect(['漢字', 'かな', '한글', '👍👍', '漢字abcd'].map(estimateTokens)).toEqual([2, 2, 2, 2, 3]);
});

it.each([
  ['Hangul letters', 0x1100, 0x11ff],
  ['kana and ideographs', 0x2e80, 0xa4cf],
  ['Hangul syllables', 0xac00, 0xd7ff],
  ['ideographs for compatibility', 0xf900, 0xfaff],
  ['full-width forms', 0xff00, 0xffef],
])('%s are a token each from the first to the last, and their neighbours are not', (_, first, last) => {
  const four = (code: number) => estimateTokens(String.fromCharCode(code).repeat(4));
  expect([four(first), four(last)]).toEqual([4, 4]);
  expect(four(first - 1)).toBe(1);
  if (last !== 0xd7ff) expect(four(last + 1)).toBe(1);
});

it('a character of two halves is one token, whichever halves they are', () => {
  expect(['\u{10000}', '\u{103ff}', '\u{10fc00}', '\u{10ffff}'].map(estimateTokens)).toEqual([1, 1, 1, 1]);
});

it('is at least a quarter of the characters and at most all of them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const characters = [...text].length;
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(Math.ceil(characters / 4));
      expect(estimateTokens(text)).toBeLessThanOrEqual(characters);
    }),
  );
});

it('a text is worth what its parts are, whether or not all of it is Latin', () => {
  const four = fc.string({
    unit: fc.constantFrom(...'abÿĀλ漢가！\u10ff\u1100\u2e7f'),
    minLength: 4,
    maxLength: 4,
  });
  const alone = (text: string) => estimateTokens(`${text}漢`) - 1; // counted one by one
  fc.assert(
    fc.property(four, (text) => {
      expect(estimateTokens(text)).toBe(alone(text));
    }),
  );
});
