import pg from 'pg';
import type { WorkflowContestant } from '../workflows/contestant.ts';

const BODY = JSON.stringify({ step: 'step_1', attempt: 1, input: { n: 1 }, repeatable: false });

/**
 * The least that durable steps in PostgreSQL can do: two rows a step (it began, it ended), one multi-row insert, which is
 * one transaction and one round trip, for all that want to write while the one before is on its way. Nobody owns anything,
 * nothing is folded.
 */
export const contestant: WorkflowContestant = {
  async open({ steps, postgres }) {
    const client = new pg.Client({ connectionString: postgres ?? '' });
    await client.connect();
    await client.query('CREATE TABLE bare_log (id bigserial PRIMARY KEY, run int, seq int, body text)');
    let waiting: { readonly run: number; readonly seq: number; readonly done: () => void }[] = [];
    let isBusy = false;
    let ran = 0;

    const commit = async () => {
      isBusy = true;
      while (waiting.length > 0) {
        const group = waiting;
        waiting = [];
        const runs: number[] = [];
        const seqs: number[] = [];
        for (const { run, seq } of group) {
          runs.push(run, run);
          seqs.push(seq, seq + 1);
        }
        await client.query({
          name: 'bare',
          text: 'INSERT INTO bare_log (run, seq, body) SELECT r, s, $3 FROM unnest($1::int[], $2::int[]) AS t(r, s)',
          values: [runs, seqs, BODY],
        });
        for (const { done } of group) done();
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      isBusy = false;
    };
    const write = (run: number, seq: number) =>
      new Promise<void>((done) => {
        waiting.push({ run, seq, done });
        if (!isBusy) {
          isBusy = true;
          setImmediate(() => void commit());
        }
      });
    const finish = async (run: number) => {
      for (let step = 0; step < steps; step += 1) {
        ran += 1;
        await write(run, 2 * step + 2);
      }
    };
    return {
      run: finish,
      async start(n) {
        const started = performance.now();
        await write(n, 0);
        await write(n, 1);
        const took = performance.now() - started;
        await finish(n);
        return took;
      },
      ran: () => ran,
      close: () => client.end(),
    };
  },
};
