import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { orAborted } from '../../abort.ts';

export interface SqlStatement {
  readonly sql: string;
  /** By position, or by name if the database supports names. Always bound, never inserted into the text. */
  readonly params: readonly Json[] | JsonObject;
}

export interface SqlLimits {
  readonly maxRows: number;
  /** The size of all rows as JSON. */
  readonly maxBytes: number;
}

export interface SqlResult {
  readonly rows: readonly JsonObject[];
  /** Whether there were more rows than the limits allow. */
  readonly isTruncated: boolean;
  readonly affected: number;
  /** The id of the last inserted row, if the database reports it. */
  readonly lastId?: Json;
}

/**
 * `read`: nothing can be changed. `write`: each statement is separate. `transaction`: all statements are executed, or
 * none.
 */
export type SqlMode = 'read' | 'write' | 'transaction';

export interface SqlRequest {
  readonly mode: SqlMode;
  readonly statements: readonly SqlStatement[];
  readonly limits: SqlLimits;
}

/** A database. It is opened at the first request. */
export interface SqlDatabase {
  readonly dialect: 'sqlite' | 'postgres';
  /** For messages, without credentials. */
  readonly where: string;
  /** Returns a result for each statement. Aborting the signal stops the statement in the database. */
  run(request: SqlRequest, signal: AbortSignal): Promise<readonly SqlResult[]>;
  close(): Promise<void>;
}

export interface SqlProblem {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly retryable?: boolean;
}

/** The error of a statement that the database refused. */
export const sqlRefused = (what: string, { message, hint, retryable = false }: SqlProblem) =>
  new RuntimeError('sql_error', `The database of ${what} refused it: ${message}`, { hint, retryable });

/** The error of a statement that is not sent at all. */
export const statementRefused = (what: string, why: string, hint: string) =>
  new RuntimeError('sql_error', `The statement for ${what} ${why}.`, { hint });

export const badParams = (what: string, why: string, hint: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: "/params" ${why}.`, { hint });

export const rowTooLarge = (what: string, maxBytes: number) =>
  new RuntimeError('output_too_large', `A row of ${what} has more than ${maxBytes} bytes.`, {
    hint: 'Select fewer columns, or parts of them: substr(column, 1, 1000). "max_bytes" next to "url" in "connection" raises the limit.',
  });

export const ONE_STATEMENT = 'Give one statement. The operation "transaction" takes several.';

/** Limits the number of concurrent calls. The others wait in order of arrival. */
export interface CallLimiter {
  /** Resolves with a function that frees the slot. Call it exactly once. */
  acquire(signal: AbortSignal): Promise<() => void>;
}

const MAX_WAITING = 1_000;

export function createCallLimiter(what: string, places: number): CallLimiter {
  const waiting: (() => void)[] = [];
  let inside = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) inside--;
    else next();
  };
  return {
    async acquire(signal) {
      if (inside < places) {
        inside++;
        return leave;
      }
      if (waiting.length >= MAX_WAITING) throw tooMany(what);
      let admit = () => {};
      const turn = new Promise<void>((resolve) => {
        admit = resolve;
      });
      waiting.push(admit);
      try {
        await orAborted(turn, what, signal);
      } catch (error) {
        const place = waiting.indexOf(admit);
        if (place === -1)
          leave(); // the turn came at the same moment
        else waiting.splice(place, 1);
        throw error;
      }
      return leave;
    },
  };
}

const tooMany = (what: string) =>
  new RuntimeError('relic_unavailable', `${MAX_WAITING} calls of ${what} are already waiting.`, {
    hint: 'Make fewer calls at the same time.',
    retryable: true,
  });
