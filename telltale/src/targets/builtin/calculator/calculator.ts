import { compileCheck } from '../../check-parameters.ts';
import type { Target } from '../../target.ts';
import { evaluateArithmetic } from './evaluate-arithmetic.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    expression: {
      type: 'string',
      minLength: 1,
      description:
        'Arithmetic: + - * / % ^ and parentheses; abs ceil cos exp floor ln log log2 max min pow round sin sqrt tan; pi e tau.',
    },
  },
  required: ['expression'],
  additionalProperties: false,
} as const;

/** Arithmetic on numbers; the result is the number. */
export function calculator(): Target {
  return {
    kind: 'tool',
    name: 'calculator',
    description: 'Calculates an arithmetic expression. The result is a number.',
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    example: { input: { expression: '19 * 3' }, output: 57, answer: 'It is 57.' },
    check: compileCheck(PARAMETERS, 'tool "calculator"'),
    async run({ input }) {
      const value = evaluateArithmetic(String(input.expression));
      if (!value.ok) throw value.error;
      return value.value;
    },
  };
}
