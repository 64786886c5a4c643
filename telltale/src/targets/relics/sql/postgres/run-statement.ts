import type { Socket } from 'node:net';
import type pg from 'pg';
import type { Json, JsonObject } from '../../../../kernel/json.ts';
import { isMap } from '../../../../manifest/schema/is-map.ts';
import type { SqlLimits, SqlResult, SqlStatement } from '../sql-database.ts';

/** A field of a gigabyte would be read whole before anybody could refuse it. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export const ROW_TOO_LARGE = new Error('row too large');

/**
 * One statement on a connection. `mustFinish`: rows beyond the limits are thrown away as they come; else they end it,
 * and the connection cannot be used any more, which `isCut` says.
 */
export function runStatement(
  Query: typeof pg.Query,
  client: pg.ClientBase,
  { sql, params }: SqlStatement,
  { maxRows, maxBytes }: SqlLimits,
  mustFinish: boolean,
): Promise<SqlResult> {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection;
  const rows: JsonObject[] = [];
  let bytes = 0;
  let isCut = false;
  let sinceRow = 0;
  let failure: unknown;
  const meter = (chunk: Uint8Array) => {
    sinceRow += chunk.length;
    if (sinceRow > MAX_MESSAGE_BYTES) stop();
  };
  const stop = () => {
    failure = ROW_TOO_LARGE;
    stream.destroy();
  };
  const settled = new Promise<SqlResult>((resolve, reject) => {
    // `extended`: the server takes one statement only, and values beside it.
    const query = new Query({ text: sql, values: values(params), queryMode: 'extended' } as pg.QueryConfig);
    query.on('row', (row: JsonObject) => {
      sinceRow = 0;
      if (isCut || failure !== undefined) return;
      const size = Buffer.byteLength(JSON.stringify(row));
      if (size > maxBytes && !mustFinish) failure = ROW_TOO_LARGE;
      isCut = rows.length >= maxRows || bytes + size > maxBytes;
      if (isCut && !mustFinish) {
        if (failure === undefined) resolve({ rows, isCut, affected: rows.length });
        else reject(failure);
      }
      if (isCut) return;
      rows.push(row);
      bytes += size;
    });
    query.on('end', (result) => {
      if (failure === undefined) resolve({ rows, isCut, affected: result.rowCount ?? 0 });
      else reject(failure);
    });
    query.on('error', (error) => reject(failure ?? error));
    stream.prependListener('data', meter);
    client.query(query);
  });
  return settled.finally(() => stream.off('data', meter));
}

/** An object is sent as JSON, a list as one of PostgreSQL's. */
const values = (params: SqlStatement['params']): Json[] =>
  (params as readonly Json[]).map((value) => (isMap(value) ? JSON.stringify(value) : value));
