import type { PlannedAction } from '../../../events/run-event.ts';
import type { Json } from '../../../kernel/json.ts';
import { type ErrorJson, RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import { cutText } from '../../../prompt/cut-text.ts';
import { MAX_RESULTS_CHARS } from './plan-limits.ts';
import type { Trouble } from './trouble.ts';

const SHOWN_CHARS = 500;

/** The action's result is not what its `expect` asks for. */
export const notExpected = (expect: string, result: Json, why: string) =>
  new RuntimeError('not_expected', `Expected: ${expect}. ${why} It gave ${shown(result)}`);

/** A crash left it in doubt. */
export const actionInterrupted = (action: string) =>
  new RuntimeError(
    'interrupted',
    `The process ended while "${action}" was called; whether it took effect is not known.`,
    { hint: 'Find out whether it did before it is done again.' },
  );

/** The manifest has changed since the plan was made. */
export const actionGone = (action: string) =>
  new RuntimeError('target_unknown', `"${action}" can no longer be called.`, {
    hint: 'The plan was made when it still could.',
  });

export const resultsTooLarge = (action: string, chars: number) =>
  new RuntimeError(
    'output_too_large',
    `What "${action}" gave has ${chars} characters; the results of one plan may have ${MAX_RESULTS_CHARS} together.`,
    { hint: 'It was done. Have it give less, or write to a file.' },
  );

/** The second plan did not come to its end either, or there can be no second one. */
export function planFailed(what: string, trouble: Trouble, nth: number, cause?: unknown): RuntimeError {
  if (trouble.kind === 'rejected') return planRejected(what, trouble);
  const which = nth === 1 ? 'The plan' : 'The second plan';
  const again = cause === undefined ? '' : ` A new plan could not be had: ${toRuntimeError(cause).message}`;
  return new RuntimeError('plan_failed', `${which} of ${what} failed. ${sentence(trouble)}${again}`, {
    hint: HINTS[trouble.kind],
    cause: cause ?? (trouble.kind === 'failed' ? asError(trouble.error) : undefined),
  });
}

const planRejected = (what: string, { by, note }: Extract<Trouble, { readonly kind: 'rejected' }>) =>
  new RuntimeError(
    'rejected',
    `The plan of ${what} was rejected by ${by}${note === undefined ? '.' : `: ${note}`}`,
    {
      hint: 'With "on_error" or a "try" around it the run can go another way.',
    },
  );

/** What went wrong, for the model and for people. */
export function sentence(trouble: Exclude<Trouble, { readonly kind: 'rejected' }>): string {
  switch (trouble.kind) {
    case 'unusable':
      return `It cannot be executed. ${trouble.problem}`;
    case 'failed':
      return `${nameOf(trouble.planned, trouble.index)} ${failure(trouble.error)}`;
    case 'judged':
      return `It was executed, but ${trouble.by} is not content: ${trouble.text}`;
  }
}

const nameOf = ({ action }: PlannedAction, index: number) => `Action ${index + 1} ("${action}")`;

const failure = ({ code, message, hint }: ErrorJson): string =>
  code === 'not_expected'
    ? `did not give what was expected. ${message}`
    : `failed with ${code}: ${message}${hint === undefined ? '' : ` ${hint}`}`;

const HINTS: Readonly<Record<Exclude<Trouble['kind'], 'rejected'>, string>> = {
  unusable: 'See "plan.made" on the log. Say in the prompt what is wanted, or name fewer "tools".',
  failed: 'See "plan.made" and "plan.acted" on the log: what was done before it stays done.',
  judged: 'See "verify" on the log: what was done stays done.',
};

const asError = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });

/** A result in a message: as JSON, its middle left out where it is long. */
export function shown(value: Json, max = SHOWN_CHARS): string {
  const { head, tail, omitted } = cutText(JSON.stringify(value), max);
  return omitted === 0 ? head : `${head} … (${omitted} characters left out) … ${tail}`;
}
