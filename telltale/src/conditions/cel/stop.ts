import type { Issue } from '../issue.ts';

export type EvaluationCode =
  | 'no_such_name'
  | 'no_such_key'
  | 'wrong_type'
  | 'out_of_range'
  | 'bad_value'
  | 'bad_pattern'
  | 'not_data'
  | 'not_a_test'
  | 'too_costly'
  | 'evaluation_failed';

/**
 * Ends an evaluation from inside; caught by `||`, `&&`, `all` and `exists` as CEL says, and else by `evaluate`. Not an
 * Error: an expression over a list may make one for each item, and a stack trace costs microseconds.
 */
export class Stop {
  readonly code: EvaluationCode;
  readonly message: string;
  /** A function where finding the nearest right name costs more than the failure itself. */
  readonly hint: string | (() => string) | undefined;
  /** Where in the expression; set by the node that was running. */
  offset: number | undefined;
  constructor(code: EvaluationCode, message: string, hint?: string | (() => string)) {
    this.code = code;
    this.message = message;
    this.hint = hint;
  }

  /** Whether a logical operator may ignore it: running out of budget ends everything. */
  get fatal(): boolean {
    return this.code === 'too_costly';
  }

  toIssue(position: (offset: number) => Pick<Issue, 'offset' | 'line' | 'column'>): Issue<EvaluationCode> {
    const hint = typeof this.hint === 'function' ? this.hint() : this.hint;
    return {
      code: this.code,
      message: this.message,
      ...(hint === undefined ? {} : { hint }),
      ...(this.offset === undefined ? {} : position(this.offset)),
    };
  }
}

export const notData = (what: string) =>
  new Stop('not_data', `The context holds ${what}, which is no JSON value.`, 'Pass plain JSON values only.');
