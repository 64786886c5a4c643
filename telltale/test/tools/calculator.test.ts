import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evaluateArithmetic } from '../../src/tools/builtin/calculator/calculator.ts';
import { agentTargets } from './agent-targets.ts';

test.each([
  ['1 + 2 * 3', 7],
  ['(1 + 2) * 3', 9],
  ['2 ^ 3 ^ 2', 512],
  ['-2 ^ 2', -4],
  ['2 ** -1', 0.5],
  ['10 % 4 - 7 / 2', -1.5],
  ['0.1 + 0.2', 0.3],
  ['9007199254740991', 9_007_199_254_740_991],
  ['max(1, 2, min(5, 9)) + sqrt(16)', 9],
  ['round(2.345, 2) + abs(-1)', 3.35],
  ['round(1.005, 2)', 1.01],
  ['round(2.675 * 1, 2)', 2.68],
  ['round(1234.5, -2)', 1200],
  ['round(1e21, 2)', 1e21],
  ['round(0.5, 400)', 0.5],
  ['log(1000) + ln(e) + log2(8)', 7],
  ['floor(pi) + ceil(tau) + pow(2, 3)', 18],
  ['sin(0) + cos(0) + tan(0)', 1],
  ['1_000 + .5e1', 1005],
  ['--2', 2],
])('%s is %d', (expression, value) => {
  expect(evaluateArithmetic(expression)).toEqual({ ok: true, value });
});

test.each([
  ['1 / 0', 'divides by zero'],
  ['1 % 0', 'divides by zero'],
  ['sqrt(-1)', 'not defined'],
  ['9 ^ 9 ^ 9', 'too large'],
  ['1 +', 'ends where a number should stand'],
  ['1 2', 'has "2" where it cannot be read (at character 3)'],
  ['(1', 'lacks a closing bracket'],
  ['sqr(2)', 'names "sqr"'],
  ['constructor(1)', 'names "constructor"'],
  ['sqrt 2', 'lacks an opening bracket'],
  ['pow(2)', 'gives 1 values to "pow", which takes 2'],
  ['process.exit()', 'names "process"'],
  ['('.repeat(1000), 'nested deeper'],
  ['1+'.repeat(2000), 'more than 2000 characters'],
  ['', 'ends where'],
])('%s is refused with the place', (expression, words) => {
  const value = evaluateArithmetic(expression);
  expect(value.ok ? '' : value.error.message).toContain(words);
});

test('whatever is written, it is a finite number or an error', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.+-*/%^(), episnqrtax_') }), (expression) => {
      const value = evaluateArithmetic(expression);
      expect(value.ok ? Number.isFinite(value.value) : value.error.code).toSatisfy(
        (each) => each === true || each === 'bad_expression',
      );
    }),
  );
});

test('sums and products are those of JavaScript', () => {
  const number = fc.integer({ min: -1000, max: 1000 });
  fc.assert(
    fc.property(number, number, number, (a, b, c) => {
      expect(evaluateArithmetic(`${a} - (${b}) * ${c}`)).toEqual({ ok: true, value: a - b * c });
    }),
  );
});

test('the tool gives the number, or says what is wrong', async () => {
  const { call, failure } = await agentTargets({ agent: 'import: { tools: ["builtin:calculator"] }' });
  expect(await call('calculator', { expression: '6 * 7' })).toBe(42);
  expect((await failure('calculator', { expression: 'sqr(2)' })).hint).toBe('Did you mean "sqrt"?');
  expect((await failure('calculator', { expresion: '1' })).hint).toContain('did you mean "expression"');
});
