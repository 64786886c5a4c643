import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { orStopped } from '../../stop-and-wait.ts';

export interface SqlStatement {
  readonly sql: string;
  /** By place, or by name where the database has names. Always bound, never put into the text. */
  readonly params: readonly Json[] | JsonObject;
}

export interface SqlLimits {
  readonly maxRows: number;
  /** Of all rows as JSON. */
  readonly maxBytes: number;
}

export interface SqlResult {
  readonly rows: readonly JsonObject[];
  /** Whether there were more rows than the limits let through. */
  readonly isCut: boolean;
  readonly affected: number;
  /** Of the row inserted last, where the database says. */
  readonly lastId?: Json;
}

/**
 * `read`: nothing can be changed. `write`: each statement stands for itself. `transaction`: all of them are carried out,
 * or none.
 */
export type SqlMode = 'read' | 'write' | 'transaction';

export interface SqlRequest {
  readonly mode: SqlMode;
  readonly statements: readonly SqlStatement[];
  readonly limits: SqlLimits;
}

/** A database; opened at the first request. */
export interface SqlDatabase {
  readonly dialect: 'sqlite' | 'postgres';
  /** For messages, without credentials. */
  readonly where: string;
  /** A result for each statement. Stops the statement in the database when the signal is aborted. */
  run(request: SqlRequest, signal: AbortSignal): Promise<readonly SqlResult[]>;
  close(): Promise<void>;
}

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

/** Lets so many in at once; the others wait in the order in which they came. */
export interface SqlDatabaseTurnstile {
  /** Resolves with what lets the next one in; to be called once. */
  enter(signal: AbortSignal): Promise<() => void>;
}

const MAX_WAITING = 1_000;

export function createTurnstile(what: string, places: number): SqlDatabaseTurnstile {
  const waiting: (() => void)[] = [];
  let inside = 0;
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) inside--;
    else next();
  };
  return {
    async enter(signal) {
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
        await orStopped(turn, what, signal);
      } catch (error) {
        const place = waiting.indexOf(admit);
        if (place === -1)
          leave(); // the turn had come in the same moment
        else waiting.splice(place, 1);
        throw error;
      }
      return leave;
    },
  };
}

const tooMany = (what: string) =>
  new RuntimeError('relic_unavailable', `${MAX_WAITING} calls of ${what} wait already.`, {
    hint: 'Make fewer at once.',
    retryable: true,
  });
