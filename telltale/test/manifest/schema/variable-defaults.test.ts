import { describe, expect, it } from 'vitest';
import { agent, said } from './said.ts';

const variable = (keys: object) => said(agent({ context_variables: { runtime: [{ name: 'v', ...keys }] } }));

describe('the default of a context variable', () => {
  it.each([
    ['string', 'x', 1],
    ['number', 1, 'x'],
    ['boolean', false, 0],
    ['object', {}, []],
    ['array', [], {}],
  ])('of type %s may be %j and null, and not %j', (type, right, wrong) => {
    expect(variable({ type, default: right })).toEqual([]);
    expect(variable({ type, default: null })).toEqual([]);
    expect(variable({ type })).toEqual([]);
    expect(variable({ type, default: wrong })).toEqual([
      expect.stringMatching(
        new RegExp(
          `^bad_default context_variables\\.runtime\\.0\\.default: The default .* is not of type ${type}\\. \\| Correct it`,
        ),
      ),
    ]);
  });

  it('without a type, or with any, may be anything', () => {
    for (const value of ['x', 1, false, {}, [], null])
      for (const type of [{}, { type: 'any' }]) expect(variable({ ...type, default: value })).toEqual([]);
  });
});

describe('context variables', () => {
  const many = (defined: number, runtime: number) =>
    said(
      agent({
        context_variables: {
          defined: Array.from({ length: defined }, (_, i) => ({ name: `d${i}` })),
          runtime: Array.from({ length: runtime }, (_, i) => ({ name: `r${i}` })),
        },
      }),
    );

  it('are 500 at the most, of all kinds together', () => {
    expect(many(300, 200)).toEqual([]);
    expect(many(300, 201)).toEqual([
      'too_many context_variables: There are 501 context variables, but at most 500 are allowed. | Combine related variables into one of type object.',
    ]);
  });
});
