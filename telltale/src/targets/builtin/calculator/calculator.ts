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
        'Arithmetic: + - * / % ^ and brackets; abs ceil cos exp floor ln log log2 max min pow round sin sqrt tan; pi e tau.',
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
    description: 'Works out an arithmetic expression; the result is a number.',
    parameters: PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(PARAMETERS, 'tool "calculator"'),
    async run({ input }) {
      const value = evaluateArithmetic(String(input.expression));
      if (!value.ok) throw value.error;
      return value.value;
    },
  };
}
