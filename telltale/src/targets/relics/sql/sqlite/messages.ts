import type { SqlLimits, SqlMode, SqlResult } from '../sql-database.ts';
import type { SqlProblem } from '../sql-errors.ts';
import type { Bindings } from './bind-params.ts';

/** What passes between a relic and the process that has its file open: a line of JSON each. */

export interface BoundStatement {
  readonly sql: string;
  readonly bindings: Bindings;
}

export type ToServer =
  | { readonly op: 'open'; readonly path: string }
  | {
      readonly op: 'run';
      readonly mode: SqlMode;
      readonly statements: readonly BoundStatement[];
      readonly limits: SqlLimits;
    };

export type FromServer =
  | { readonly kind: 'opened' }
  | { readonly kind: 'done'; readonly results: readonly SqlResult[] }
  /** The file cannot be used. */
  | { readonly kind: 'unusable'; readonly why: string; readonly retryable: boolean }
  | { readonly kind: 'refused'; readonly problem: SqlProblem }
  | { readonly kind: 'row_too_large' };
