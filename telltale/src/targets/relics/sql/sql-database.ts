import type { Json, JsonObject } from '../../../kernel/json.ts';

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
