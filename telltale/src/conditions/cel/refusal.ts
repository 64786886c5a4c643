import type { Issue } from '../issue.ts';

export type ExpressionCode =
  | 'syntax'
  | 'too_long'
  | 'too_complex'
  | 'unknown_name'
  | 'unknown_function'
  | 'wrong_arguments'
  | 'refused'
  | 'bad_pattern'
  | 'bad_literal';

/** Ends the reading of an expression from inside; caught by `parseExpression`. */
export class Refusal {
  readonly issue: Issue<ExpressionCode>;
  constructor(code: ExpressionCode, message: string, offset: number, hint?: string) {
    this.issue = { code, message, offset, ...(hint === undefined ? {} : { hint }) };
  }
}
