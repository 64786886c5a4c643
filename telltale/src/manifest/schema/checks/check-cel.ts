import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import type { Finding } from '../finding.ts';

/** What is wrong with a CEL expression by itself; which names it may use is judged where it stands. */
export function checkCel(source: string): readonly Finding[] {
  const parsed = parseExpression(source);
  if (parsed.ok) return [];
  const { message, hint, offset } = parsed.error;
  return [{ code: 'bad_expression', message, hint, offset }];
}
