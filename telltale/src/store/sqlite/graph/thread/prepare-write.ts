import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * A statement that writes. What it says of its row is a bigint: those of the index of words lie beyond 2^53, and Node 26
 * gives no such number, but throws when the row is written.
 */
export function prepareWrite(db: DatabaseSync, sql: string): StatementSync {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}
