import { DatabaseSync } from 'node:sqlite';
import { type Contestant, event } from './contestant.ts';

/**
 * The least that a durable log in SQLite can do: one table, one row an event, one transaction for a group of `sessions`
 * rows, on the thread that has them already. No fence, no order by stream, nobody to tell, SQLite's own checkpoints.
 */
export function createBareLoop(path: string, sessions: number): Contestant {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, stream INTEGER, seq INTEGER, body TEXT)');
  const insert = db.prepare('INSERT INTO log (stream, seq, body) VALUES (?, ?, ?)');
  const heads = new Array<number>(sessions).fill(0);

  const commit = (streams: number): number => {
    const started = performance.now();
    db.exec('BEGIN IMMEDIATE');
    for (let stream = 0; stream < streams; stream++) {
      const seq = ++heads[stream]!;
      insert.run(stream, seq, event(seq));
    }
    db.exec('COMMIT');
    return performance.now() - started;
  };

  return {
    name: 'bare loop',
    async together(each) {
      return Array.from({ length: each }, () => commit(sessions));
    },
    async alone(count) {
      return Array.from({ length: count }, () => commit(1));
    },
    async count() {
      return Number(db.prepare('SELECT count(*) AS n FROM log').get()?.n);
    },
    async close() {
      db.close();
    },
  };
}
