import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { compilePattern, expandedSize } from '../../src/expressions/linear-regex.ts';
import { moreRuns } from '../more-runs.ts';

const compiled = (source: string) => {
  const pattern = compilePattern(source);
  if (!pattern.ok) throw new Error(pattern.error.message);
  return pattern.value;
};

describe('a pattern', () => {
  it('is found anywhere in a text, in short ones and in long ones alike', () => {
    for (const padding of ['', 'x'.repeat(20_000)]) {
      expect(compiled('b+c').test(`${padding}abbc`)).toBe(true);
      expect(compiled('^a').test(`${padding}abbc`)).toBe(padding === '');
      expect(compiled('c$').test(`${padding}abbc`)).toBe(true);
      expect(compiled('d').test(`${padding}abbc`)).toBe(false);
    }
  });

  it('is not tried on a text that is too long for it', () => {
    const small = compiled('a');
    expect(small.maxLength).toBe(65_536);
    expect(small.test('a'.repeat(65_536))).toBe(true);
    expect(small.test('a'.repeat(65_537))).toBe(false);
    const large = compiled('(a|b)*a(a|b){100}[cd]');
    expect(large.maxLength).toBe(Math.floor(2_097_152 / large.programSize));
  });

  it.each([
    ['look-ahead', '(?=a)', 'look-around and back-references are left out'],
    ['look-behind', '(?<=a)b', 'look-around and back-references are left out'],
    ['a back-reference', '(a)\\1', 'look-around and back-references are left out'],
    ['an open class', '[a', 'RE2 syntax'],
    ['too many characters', 'a'.repeat(513), 'Split it'],
    ['too many instructions', 'a{600}', 'smaller repeat counts'],
    ['a repeat of a repeat', '(.{30}){30}', 'smaller repeat counts'],
  ])('with %s is refused', (_, source, hint) => {
    expect(compilePattern(source)).toMatchObject({
      error: { code: 'bad_pattern', hint: expect.stringContaining(hint) },
    });
  });

  it.each([
    '(a+)+$',
    '(a|a)*$',
    '(.*)(.*)(.*)(.*)(.*)[^ab]',
    '(a|b)*a(a|b){20}[cd]',
    '(a|b)*a(a|b){150}[cd]',
    '.*.{300}[cd]$',
    '(?:[ab]?){150}[ab]{200}[cd]',
  ])('%s does not hang on the longest text it takes', (source) => {
    const pattern = compiled(source);
    const text = Array.from({ length: pattern.maxLength }, (_, i) =>
      Math.abs(Math.sin(i * i) * 1e6) & 1 ? 'a' : 'b',
    ).join('');
    const before = performance.now();
    pattern.test(text);
    pattern.test('a'.repeat(pattern.maxLength - 1));
    expect(performance.now() - before).toBeLessThan(5_000);
  });

  it('that would take long to compile is refused before it is compiled', () => {
    for (const source of [
      `(${'.'.repeat(400)}){1000}`,
      '(x{10}){100}'.repeat(40),
      '[^\\pL]{999}'.repeat(40),
    ]) {
      expect(expandedSize(source)).toBeGreaterThan(30_000);
      const before = performance.now();
      expect(compilePattern(source)).toMatchObject({ error: { code: 'bad_pattern' } });
      expect(performance.now() - before).toBeLessThan(200);
    }
  });

  it('is never much larger than it was estimated to be', () => {
    const unit = fc.constantFrom(
      'a',
      '.',
      '[bc]',
      '[]^]',
      '\\d',
      '\\{',
      '\\pL',
      '(',
      ')',
      '(?:',
      '|',
      '*',
      '?',
      '+',
      '{3}',
      '{2,5}',
      '{9,}',
      '{',
      '}',
      '^',
      '$',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 14 }), (source) => {
        try {
          return RE2JS.compile(source).programSize() <= 4 * expandedSize(source) + 8;
        } catch {
          return true; // no pattern at all
        }
      }),
      { numRuns: moreRuns(5_000) },
    );
  });
});

describe('what a pattern expands to', () => {
  it.each([
    ['abc', 3],
    ['a{3}', 3],
    ['a{2,5}', 5],
    ['a{4,}', 4],
    ['a{0}', 1],
    ['a{2}{3}', 6],
    ['(ab){3}', 12],
    ['((a{10}){10}){10}', 1_220],
    ['[^]a-z\\]]{4}', 4],
    ['\\p{Greek}{2}\\x{10FFFF}\\{', 4],
    ['a*b|c', 5],
    ['(a', 3],
    ['a)b', 2],
  ])('%s: %i', (pattern, size) => {
    expect(expandedSize(pattern)).toBe(size);
  });
});

it('a pattern may have 512 characters', () => {
  expect(compilePattern('[ab]'.repeat(128)).ok).toBe(true);
  expect(compilePattern(`[ab]${'[ab]'.repeat(127)}b`)).toMatchObject({
    error: { code: 'bad_pattern', message: expect.stringContaining('has 513 characters') },
  });
});
