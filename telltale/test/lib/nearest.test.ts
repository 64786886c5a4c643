import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest, suggest } from '../../src/lib/nearest.ts';

const known = ['status', 'progress', 'context', 'depends_on', 'id', 'in'];

it('of a single letter only the case may differ', () => {
  expect(nearest('C', ['A', 'B'])).toBeUndefined();
  expect(nearest('c', ['A', 'C'])).toBe('C');
});

describe('the nearest name', () => {
  it.each([
    ['stauts', 'status'],
    ['Status', 'status'],
    ['statu', 'status'],
    ['depend_on', 'depends_on'],
    ['dependson', 'depends_on'],
    ['contxet', 'context'],
    ['idd', 'id'],
    ['status', 'status'],
    ['banana', undefined],
    ['', undefined],
    ['x', undefined],
    ['x'.repeat(65), undefined],
  ])('%s: %s', (asked, expected) => {
    expect(nearest(asked, known)).toBe(expected);
  });

  it('may differ by one slip in three characters, and by no more', () => {
    expect(nearest('ic', ['id'])).toBe('id');
    expect(nearest('ab', ['cd'])).toBeUndefined();
    expect(nearest('stxty', ['state'])).toBeUndefined();
    expect(nearest('stxtyd', ['stated'])).toBe('stated');
    expect(nearest('sxxxed', ['stated'])).toBeUndefined();
  });

  it.each([
    ['act', 'cat'],
    ['cta', 'cat'],
    ['cahr', 'char'],
  ])('two neighbours that changed places are one slip: %s is %s', (asked, meant) => {
    expect(nearest(asked, [meant])).toBe(meant);
  });

  it('two that are not neighbours, or did not change places, are two slips', () => {
    for (const asked of ['tac', 'cbb', 'bct', 'tca']) expect(nearest(asked, ['cat'])).toBeUndefined();
  });

  it('is found whatever the case', () => {
    expect(nearest('STATUS', known)).toBe('status');
    expect(nearest('depends_on', ['DEPENDS_ON'])).toBe('DEPENDS_ON');
  });

  it('is near in all of its length, not only in the part that both have', () => {
    expect(nearest('cat', ['category'])).toBeUndefined();
    expect(nearest('category', ['cat'])).toBeUndefined();
  });

  it('is looked for up to 64 characters, asked or known', () => {
    const long = 'x'.repeat(63);
    expect(nearest(`${long}y`, [`${long}z`])).toBe(`${long}z`);
    expect(nearest(`${long}yy`, [`${long}y`])).toBeUndefined();
    expect(nearest(`${long}y`, [`${long}yy`])).toBeUndefined();
  });

  it('nothing is near to nothing', () => {
    expect(nearest('', ['a'])).toBeUndefined();
  });

  it('the first of two that are as near', () => {
    expect(nearest('cat', ['bat', 'hat'])).toBe('bat');
  });

  it('a name that is known is its own nearest', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c', '_') }),
          { minLength: 1 },
        ),
        (names) => names.every((name) => nearest(name, names) === name),
      ),
    );
  });

  it('does not spend long on a thousand long names', () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `${'a'.repeat(60)}${i}`);
    expect(nearest(`${'a'.repeat(60)}x`, names)).toBe(`${'a'.repeat(60)}0`);
  });
});

describe('a suggestion', () => {
  it('is the nearest name, or else all of them', () => {
    expect(suggest('stauts', known)).toBe('Did you mean "status"?');
    expect(suggest('banana', ['a', 'b'])).toBe('Allowed: a, b.');
    expect(suggest('banana', ['a', 'b'], 'Known fields')).toBe('Known fields: a, b.');
    expect(suggest('banana', [])).toBe('Allowed: none.');
  });
});
