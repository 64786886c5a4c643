import fc from 'fast-check';
import { expect, it } from 'vitest';
import { estimateTokens } from '../../src/kernel/estimate-tokens.ts';

it('four characters are a token, and what is left of one is a whole one', () => {
  expect(['', 'a', 'abcd', 'abcde'].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});

it('accented, Greek and Cyrillic letters count as letters do', () => {
  expect(['über', 'λόγο', 'слов'].map(estimateTokens)).toEqual([1, 1, 1]);
});

it('Chinese, Japanese and Korean characters and emoji are a token each', () => {
  expect(['漢字', 'かな', '한글', '👍👍', '漢字abcd'].map(estimateTokens)).toEqual([2, 2, 2, 2, 3]);
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
