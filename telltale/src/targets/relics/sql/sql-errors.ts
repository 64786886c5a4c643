import { RuntimeError } from '../../../kernel/runtime-error.ts';

export interface SqlProblem {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly retryable?: boolean;
}

/** The database is there and refused the statement. */
export const sqlRefused = (what: string, { message, hint, retryable = false }: SqlProblem) =>
  new RuntimeError('sql_error', `The database of ${what} refused it: ${message}`, { hint, retryable });

/** A statement that is not sent at all. */
export const statementRefused = (what: string, why: string, hint: string) =>
  new RuntimeError('sql_error', `The statement for ${what} ${why}.`, { hint });

export const badParams = (what: string, why: string, hint: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: "/params" ${why}.`, { hint });

export const rowTooLarge = (what: string, maxBytes: number) =>
  new RuntimeError('output_too_large', `A row of ${what} has more than ${maxBytes} bytes.`, {
    hint: 'Choose fewer columns, or parts of them: substr(column, 1, 1000). "max_bytes" beside "url" in "connection" allows more.',
  });

export const ONE_STATEMENT = 'Give one statement; the operation "transaction" takes several.';
