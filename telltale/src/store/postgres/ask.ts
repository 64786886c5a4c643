import type { Pool, QueryArrayConfig, QueryArrayResult, QueryResult } from 'pg';
import { type Patience, patiently } from './patience.ts';

/** Asks over any connection, and again over another where that one breaks: for what is safe to do twice. */
export type Ask = (text: string, values?: readonly unknown[]) => Promise<QueryResult>;

export const createAsk =
  (pool: Pool, patience: Patience): Ask =>
  (text, values = []) =>
    patiently(patience, () => pool.query(text, [...values]));

/** A statement that is parsed once a connection; rows come as arrays. */
export type AskPrepared = (name: string, text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

export type Row = readonly unknown[];

export const createAskPrepared =
  (pool: Pool, patience: Patience, answerMs?: number): AskPrepared =>
  async (name, text, values) => {
    const time = answerMs === undefined ? {} : { query_timeout: answerMs };
    const config: QueryArrayConfig = {
      ...time,
      name: `telltale_${name}`,
      text,
      values: [...values],
      rowMode: 'array',
    };
    const { rows } = await patiently<QueryArrayResult<unknown[]>>(patience, () => pool.query(config));
    return rows;
  };
