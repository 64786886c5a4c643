import pg from 'pg';
import type { SharedDatabase } from '../../src/store/shared-store.ts';

/** The least that a database of a fleet is: a pool, and a connection for what is told by NOTIFY. */
export function openPoolDatabase(url: string): SharedDatabase & { end(): Promise<void> } {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  return {
    async execute(text, values) {
      const answer: unknown = await pool.query(text, values === undefined ? undefined : [...values]);
      const results = (Array.isArray(answer) ? answer : [answer]) as pg.QueryResult[];
      return { rows: results.flatMap(({ rows }) => rows) };
    },
    async listen(channel, heard, again) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      client.on('notification', ({ payload = '' }) => heard(payload));
      await client.connect();
      await client.query(`LISTEN "${channel}"`);
      again();
      return { close: () => client.end() };
    },
    end: () => pool.end(),
  };
}
