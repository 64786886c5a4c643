import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip, sentences, wrap } from '../../../src/cli/view/text-width.ts';
import { displayWidth } from '../../../src/manifest/format-diagnostic.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '日', '👍', 'e\u0301', '-'), maxLength: 80 });
const columns = fc.integer({ min: 2, max: 30 });

describe('a clipped text', () => {
  it('is as it was where it fits, and ends in an ellipsis where not', () => {
    expect(clip('four', 4)).toBe('four');
    expect(clip('fives', 4)).toBe('fiv…');
    expect(clip('日本語', 5)).toBe('日本…');
    expect(clip('日本語', 4)).toBe('日…');
    expect(clip('日x', 2)).toBe('…');
    expect(clip('x', 0)).toBe('');
  });

  it('is never wider than it may be', () => {
    fc.assert(
      fc.property(text, columns, (each, width) => {
        expect(displayWidth(clip(each, width))).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('does not look for ever at marks that take no column', () => {
    expect(clip('\u0301'.repeat(1_000_000), 10).length).toBeLessThan(1000);
  });
});

describe('a sentence on a terminal', () => {
  it('breaks between words, and its rows begin below its text', () => {
    expect(sentences(['  → Check that the key is right and that it may use the model.'], 41)).toEqual([
      '  → Check that the key is right and that',
      '    it may use the model.',
    ]);
    expect(sentences(['error: the file is not there'], 20)).toEqual(['error: the file is', 'not there']);
  });

  it('keeps a command at its end in one piece, so that it can be copied', () => {
    const line = '  → Nothing works on it now. Resume with: telltale resume ses_01m7v4 --store a.db';
    expect(sentences([line], 30)).toEqual([
      '  → Nothing works on it now.',
      '    Resume with:',
      '    telltale resume ses_01m7v4 --store a.db',
    ]);
  });

  it('takes no notice of colors, and leaves a pipe as it is', () => {
    const red = '\u001b[31merror\u001b[39m: one two';
    expect(sentences([red], 20)).toEqual([red]);
    expect(sentences([red], 12)).toEqual(['\u001b[31merror\u001b[39m: one', 'two']);
    expect(sentences(['one two three'], undefined)).toEqual(['one two three']);
  });
});

describe('wrapped text', () => {
  it('breaks at blanks, and inside a word only where it must', () => {
    expect(wrap('the quick brown fox', 9)).toEqual(['the quick', 'brown fox']);
    expect(wrap('supercalifragilistic', 8)).toEqual(['supercal', 'ifragili', 'stic']);
    expect(wrap('', 8)).toEqual(['']);
  });

  it('loses nothing but blanks, and no row is too wide', () => {
    fc.assert(
      fc.property(text, columns, (each, width) => {
        const rows = wrap(each, width);
        expect(rows.join('').replaceAll(' ', '')).toBe(each.replaceAll(' ', ''));
        for (const row of rows) expect(displayWidth(row)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('keeps its rows when more comes behind it', () => {
    fc.assert(
      fc.property(text, text, columns, (before, after, width) => {
        const rows = wrap(before, width).slice(0, -1);
        expect(wrap(before + after, width).slice(0, rows.length)).toEqual(rows);
      }),
    );
  });
});
