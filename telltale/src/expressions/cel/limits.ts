import type { ConditionConditionIssue } from '../issue.ts';

const CHARS_PER_UNIT = 64;
/** Searching is text × needle in the worst case; a unit buys this many comparisons of characters. */
const COMPARISONS_PER_UNIT = 1_024;

/** What an evaluation has left to spend. Work is paid for before it is done, so nothing large is ever begun. */
export interface Budget {
  spend(units: number): void;
  /** Pays for making or reading `length` characters. */
  spendText(length: number): void;
  /** Pays for looking for `needle` characters in `text` characters. */
  spendSearch(text: number, needle: number): void;
}

export function createBudget(limit = MAX_COST): Budget {
  let left = limit;
  const spend = (units: number) => {
    left -= units;
    if (left < 0) throw tooCostly(limit);
  };
  return {
    spend,
    spendText: (length) => spend(1 + length / CHARS_PER_UNIT),
    spendSearch: (text, needle) => spend(1 + text / CHARS_PER_UNIT + (text * needle) / COMPARISONS_PER_UNIT),
  };
}

const tooCostly = (limit: number) =>
  new LimitsStop(
    'too_costly',
    `The expression does more than ${limit} units of work.`,
    'Test fewer or smaller lists and texts, or nest fewer macros.',
  );

/** Characters of an expression. */
export const MAX_EXPRESSION_LENGTH = 4_096;
/** Nodes of its syntax tree: also the depth of a chain such as `a + a + a + …`. */
export const MAX_NODES = 1_000;
/** Nesting of brackets, calls, selections and ternaries. */
export const MAX_DEPTH = 48;
/** Elements of one list literal, entries of one map literal. */
export const MAX_LITERAL_ITEMS = 256;
/** Arguments of one call. */
export const MAX_ARGUMENTS = 8;
/** Macros inside macros (`all` in `exists` in `map`). */
export const MAX_MACRO_NESTING = 4;
/**
 * What one evaluation may spend: 1 for each node that runs and each element that is made or compared, 1 for each 64
 * characters of text that is made or read. A spent budget is a typed error after a few milliseconds
 * (docs/decisions/cel.md has the figures).
 */
export const MAX_COST = 200_000;
/** Characters of a text that an expression makes. */
export const MAX_TEXT_LENGTH = 1_048_576;
/** Nesting of values that are compared or returned. */
export const MAX_VALUE_DEPTH = 64;

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
export class LimitsStop {
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

  toIssue(
    position: (offset: number) => Pick<ConditionConditionIssue, 'offset' | 'line' | 'column'>,
  ): ConditionConditionIssue<EvaluationCode> {
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
  new LimitsStop(
    'not_data',
    `The context holds ${what}, which is no JSON value.`,
    'Pass plain JSON values only.',
  );

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
  readonly issue: ConditionConditionIssue<ExpressionCode>;
  constructor(code: ExpressionCode, message: string, offset: number, hint?: string) {
    this.issue = { code, message, offset, ...(hint === undefined ? {} : { hint }) };
  }
}
