import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest, suggest } from '../../src/kernel/nearest.ts';

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
