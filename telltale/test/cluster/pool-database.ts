import pg from 'pg';
import type { SharedDatabase } from '../../src/store/shared-store.ts';

export interface PoolDatabase extends SharedDatabase {
  /** Resolves once everything that was asked is answered, and nobody asks anything because of an answer. */
  quiet(): Promise<void>;
  end(): Promise<void>;
}

/** The least that a database of a fleet is: a pool, and a connection for what is told by NOTIFY. */
export function openPoolDatabase(url: string): PoolDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  let asked = 0;
  const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
  pool.on('error', () => undefined);
  return {
    async execute(text, values) {
      asked += 1;
      const answer: unknown = await pool
        .query(text, values === undefined ? undefined : [...values])
        .finally(() => (asked -= 1));
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
    async quiet() {
      for (let still = 0; still < 3; still = asked === 0 ? still + 1 : 0) await turn();
    },
    end: () => pool.end(),
  };
}
