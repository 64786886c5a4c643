import { type ExpressionContext, evaluateTest } from '../conditions/cel/evaluate.ts';
import { type Expression, parseExpression } from '../conditions/cel/parse-expression.ts';
import type { Issue } from '../conditions/issue.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { Feed } from './feed.ts';

export interface Enabled {
  readonly enabled: boolean;
  readonly error?: ErrorJson;
}

/** `enabled`, ready to be decided again and again; a test only where it can change. */
export function readEnabled({ enabled }: Pick<Feed, 'enabled'>): Enabled & { readonly test?: Expression } {
  switch (enabled.trim().toLowerCase()) {
    case '':
    case '0':
    case 'false':
    case 'no':
      return { enabled: false };
    case '1':
    case 'true':
    case 'yes':
      return { enabled: true };
  }
  const parsed = parseExpression(enabled);
  return parsed.ok
    ? { enabled: false, test: parsed.value }
    : { enabled: false, error: toError(parsed.error) };
}

/** Whether it holds. What cannot be decided (a field that is not set yet) does not hold; `error` says why. */
export function decideEnabled(test: Expression, context: ExpressionContext): Enabled {
  const held = evaluateTest(test, context);
  return held.ok ? { enabled: held.value } : { enabled: false, error: toError(held.error) };
}

const toError = ({ code, message, hint }: Issue): ErrorJson => ({
  code,
  message: `"enabled": ${message}`,
  ...(hint === undefined ? {} : { hint }),
  retryable: false,
});
