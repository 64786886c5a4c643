import { type ExpressionContext, evaluateTest } from './evaluate.ts';
import { type Expression, parseExpression } from './parse-expression.ts';

/** What a test came to. One with a problem did not hold, and nobody knows whether its opposite does. */
export interface Decision {
  readonly held: boolean;
  /** Why it could not be read or evaluated, and what to write instead. */
  readonly problem?: string;
}

/** Reads and evaluates a test that a model wrote. `context` is asked only where it can be read. */
export function decideTest(source: string, context: (test: Expression) => ExpressionContext): Decision {
  const parsed = parseExpression(source);
  const held = parsed.ok ? evaluateTest(parsed.value, context(parsed.value)) : parsed;
  if (held.ok) return { held: held.value };
  const { message, hint } = held.error;
  return { held: false, problem: hint === undefined ? message : `${message} ${hint}` };
}
