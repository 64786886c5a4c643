import { describe, expect, it } from 'vitest';
import { fields, said } from './said.ts';

describe('the default of a metadata field', () => {
  it.each([
    { values: ['A', 1, true], default: 1 },
    { type: 'string', max_length: 2, pattern: '^a', default: 'ab' },
    { type: 'number', min: 1, max: 1, default: 1 },
    { type: 'number', integer: true, default: -3 },
    { type: 'boolean', default: false },
    { type: 'object', schema: { type: 'object', required: ['a'] }, default: { a: null } },
    { type: 'array', items: { type: 'number', min: 0 }, max_items: 2, default: [0, 1] },
  ])('satisfies its field: %j', (field) => {
    expect(said(fields({ f: field }))).toEqual([]);
  });

  it.each<[object, string, string?]>([
    [
      { values: ['IDLE', 'CODING'], default: 'CODNIG' },
      '"CODNIG" is not IDLE or CODING.',
      'Did you mean "CODING"?',
    ],
    [{ values: ['IDLE', 1], default: 3 }, '3 is not IDLE or 1.'],
    [{ values: ['1'], default: 1 }, '1 is not 1.'],
    [{ type: 'string', default: 5 }, '5 is not text.'],
    [{ type: 'string', max_length: 2, default: 'abc' }, '"abc" is longer than 2.'],
    [{ type: 'string', pattern: '^a', default: 'b' }, '"b" does not match the pattern ^a.'],
    [{ type: 'number', default: '1' }, '"1" is not a number.'],
    [{ type: 'number', min: 1, default: 0 }, '0 is less than the minimum 1.'],
    [{ type: 'number', max: 1, default: 2 }, '2 is greater than the maximum 1.'],
    [{ type: 'number', integer: true, default: 1.5 }, '1.5 is not a whole number.'],
    [{ type: 'boolean', default: 'true' }, '"true" is not true or false.'],
    [{ type: 'boolean', default: null }, 'a field without a default is null.'],
    [{ type: 'object', default: [] }, 'an empty list is not a map.'],
    [{ type: 'array', default: {} }, 'an empty map is not a list.'],
    [{ type: 'array', max_items: 1, default: [1, 2] }, 'it has 2 items, but at most 1 are allowed.'],
    [{ type: 'array', items: { type: 'string' }, default: ['a', 2] }, 'item 2: 2 is not text.'],
  ])('does not: %j', (field, why, hint = 'Correct it, or remove it.') => {
    expect(said(fields({ f: field }))).toEqual([
      `bad_default metadata.fields.f.default: The default does not fit its field: ${why} | ${hint}`,
    ]);
  });

  it('may not be asked for between a minimum and a smaller maximum', () => {
    expect(said(fields({ f: { type: 'number', min: 2, max: 1 } }))).toEqual([
      'empty_range metadata.fields.f.min: The minimum 2 is greater than the maximum 1. | Swap them.',
    ]);
  });
});
