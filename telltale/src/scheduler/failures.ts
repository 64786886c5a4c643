import { quote } from '../expressions/issue.ts';
import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { ActionState, DeclaredAction } from '../log/action.ts';
import { writtenId } from '../log/action-id.ts';

export const timedOut = (action: DeclaredAction, timeoutMs: number) =>
  new RuntimeError(
    'timeout',
    `Action "${action.id}" (${action.name}) took longer than ${timeoutMs / 1000} s.`,
    {
      hint: 'Give it more time with "timeout" (seconds), or ask for less at once.',
      retryable: true,
    },
  );

export const cancelled = (reason: string) => new RuntimeError('cancelled', reason);

export const badParameters = (message: string, hint: string | undefined) =>
  new RuntimeError('bad_parameters', message, { hint });

/** `broken`: whether the turn broke off, in which what has the name might have been declared. */
export const listUnknown = (source: string, broken: boolean) =>
  new RuntimeError('bad_list', `in=${quote(source)} names nothing${broken ? BROKE_OFF : ''}.`, {
    hint: 'Name an action, an output_key, a variable or a metadata field that holds a list: in="$items".',
  });

/** `instead`: how far its path leads, and what is there. */
export const partUnknown = (source: string, instead: string) =>
  new RuntimeError('bad_list', `in=${quote(source)} names nothing: ${instead}.`, {
    hint: 'Name the value that is a list, or the list in it: in="$result.items".',
  });

const BROKE_OFF = ', as far as the turn went before it broke off';

export const noList = (source: string, found: string) =>
  new RuntimeError('bad_list', `in=${quote(source)} is ${found}, not a list.`, {
    hint: 'Name a value that is a list, or the list in it: in="$result.items". Or write it as JSON: in=\'["a", "b"]\'.',
  });

export const listTooLong = (source: string, made: number, limit: number) =>
  new RuntimeError('bad_list', `in=${quote(source)} would make ${made} actions; ${limit} are allowed.`, {
    hint: 'Loop over a part of the list, or give the whole list to one action.',
  });

export const notInHistory = (id: string) =>
  new RuntimeError('rollback_unknown', `There is no action "${id}" to roll back to.`, {
    hint: 'Name an action of this session by its id, or leave "to" out to undo all.',
  });

/** An error as it was before it was written to the log. */
export const revived = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });

/** Of what was still open when everything was shut. */
export const neverEnded = (id: string): ErrorJson => ({
  code: 'cancelled',
  message: `"${writtenId(id)}" came to no end.`,
  retryable: false,
});

/** Why the output of an action that has ended is not to be had. */
export function whyUnavailable(known: ActionState): ErrorJson {
  if (known.error !== undefined) return known.error;
  const id = writtenId(known.action.id);
  const { reason, because } = known.skipped ?? {};
  const detail = because === undefined ? '' : `: ${reason === 'if' ? because : writtenId(because)}`;
  return {
    code: known.status,
    message:
      reason === undefined ? `"${id}" was ${known.status}.` : `"${id}" was skipped (${reason}${detail}).`,
    retryable: false,
  };
}
