import { type ExpressionContext, evaluate } from '../../src/expressions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../../src/expressions/cel/parse-expression.ts';

export function parsed(source: string): Expression {
  const result = parseExpression(source);
  if (!result.ok) throw new Error(`${source}: ${result.error.message}`);
  return result.value;
}

export const run = (source: string, context: ExpressionContext = {}) => evaluate(parsed(source), context);

/** The value, or the code of the error. */
export function outcome(source: string, context: ExpressionContext = {}): unknown {
  const result = run(source, context);
  return result.ok ? result.value : `!${result.error.code}`;
}
