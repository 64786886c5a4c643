import { evaluateTest } from '../../../conditions/cel/evaluate.ts';
import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import type { Issue } from '../../../conditions/issue.ts';
import type { Json } from '../../../kernel/json.ts';

const ROOTS: ReadonlySet<string> = new Set(['result', 'results']);

/** What is wrong with a test, before anything was done; undefined if nothing is. */
export function wrongExpectation(expect: string): string | undefined {
  const expression = parseExpression(expect);
  if (!expression.ok) return `"expect" cannot be read: ${told(expression.error)}`;
  const other = expression.value.names.find(({ root }) => !ROOTS.has(root));
  return other === undefined
    ? undefined
    : `"expect" reads "${other.root}"; it sees only result (what this action gave) and results (what those before it gave).`;
}

/** Why what was expected did not come; undefined where it did. A test that cannot be evaluated does not hold. */
export function unmet(expect: string, result: Json, results: readonly Json[]): string | undefined {
  const expression = parseExpression(expect);
  if (!expression.ok) return told(expression.error);
  const held = evaluateTest(expression.value, { result, results });
  if (!held.ok) return `The test could not be evaluated: ${told(held.error)}`;
  return held.value ? undefined : 'It does not hold.';
}

const told = ({ message, hint }: Issue): string => (hint === undefined ? message : `${message} ${hint}`);
