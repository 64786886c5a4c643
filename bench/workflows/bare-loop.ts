import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { WorkflowContestant } from './contestant.ts';

const BODY = JSON.stringify({ step: 'step_1', attempt: 1, input: { n: 1 }, repeatable: false });

/**
 * The least that durable steps in SQLite can do: two rows a step (it began, it ended), one transaction for all that
 * want to write in one turn of the event loop, fsync on every one. Nobody owns anything, nothing is folded.
 */
export const contestant: WorkflowContestant = {
  async open({ steps, folder }) {
    const db = new DatabaseSync(join(folder, 'bare.db'));
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, body TEXT)');
    const insert = db.prepare('INSERT INTO log (run, seq, body) VALUES (?, ?, ?)');
    let waiting: { readonly run: number; readonly seq: number; readonly done: () => void }[] = [];
    let ran = 0;

    const commit = () => {
      const group = waiting;
      waiting = [];
      db.exec('BEGIN IMMEDIATE');
      for (const { run, seq } of group) {
        insert.run(run, seq, BODY);
        insert.run(run, seq + 1, BODY);
      }
      db.exec('COMMIT');
      for (const { done } of group) done();
    };
    const write = (run: number, seq: number) =>
      new Promise<void>((done) => {
        if (waiting.length === 0) setImmediate(commit);
        waiting.push({ run, seq, done });
      });
    const finish = async (run: number, from: number) => {
      for (let step = from; step < steps; step += 1) {
        ran += 1;
        await write(run, 2 * step + 2);
      }
    };
    return {
      run: (n) => finish(n, 0),
      async start(n) {
        const started = performance.now();
        await write(n, 0);
        await write(n, 1);
        const took = performance.now() - started;
        await finish(n, 0);
        return took;
      },
      ran: () => ran,
      close: async () => db.close(),
    };
  },
};
