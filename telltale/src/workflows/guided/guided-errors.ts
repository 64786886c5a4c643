import type { ErrorJson } from '../../kernel/runtime-error.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

const because = (note: string | undefined): string => (note === undefined ? '.' : `: ${note}`);

/** A person said that the step may not begin. */
export const notConfirmed = (step: string, by: string, note: string | undefined) =>
  new RuntimeError('rejected', `The step "${step}" was rejected by ${by} before it began${because(note)}`, {
    hint: 'With "on_error" or a "try" around it the run can go another way.',
  });

export const notVerified = (step: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'not_verified',
    `The step "${step}" is not done: its verifier did not accept it, and ${by} ended it${because(note)}`,
    { hint: 'Its log shows what the verifier said. "on_error" or a "try" around it can go another way.' },
  );

export const endedStuck = (step: string, why: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'stuck',
    `The agent came no further with the step "${step}" (${why.replace(/\.+$/, '')}), and ${by} ended it${because(note)}`,
    { hint: 'Say more exactly what is to be done, or give the agent what it lacks.' },
  );

export const questionWithdrawn = (step: string, note: string | undefined) =>
  new RuntimeError('cancelled', `The question of the step "${step}" was withdrawn${because(note)}`);

export const tooManyReports = (step: string, limit: number) =>
  new RuntimeError('report_limit', `The work on the step "${step}" was reported ${limit} times.`, {
    hint: 'Give it "max_turns", or let its verifier judge at completion only.',
  });

/** What its worker ended with. */
export const workFailed = ({ code, message, hint, retryable, cause }: ErrorJson): RuntimeError =>
  new RuntimeError(code, message, { hint, retryable, cause: cause && workFailed(cause) });
