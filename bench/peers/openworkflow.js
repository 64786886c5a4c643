import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';

/**
 * Its handles poll for results once a second. So that the next workflow starts when one has ended, the workflow's own
 * code says so; its last write is then still under way, which is in its favour.
 */
export const contestant = {
  async open({ steps, atOnce, postgres }) {
    const backend = await BackendPostgres.connect(postgres);
    const client = new OpenWorkflow({ backend });
    const ended = new Map();
    let ran = 0;
    const workflow = client.defineWorkflow({ name: 'bench' }, async ({ input, step }) => {
      for (let at = 1; at <= steps; at += 1)
        await step.run({ name: `step_${at}` }, async () => {
          ran += 1;
          return { n: input.n };
        });
      ended.get(input.n)?.();
      return { n: input.n };
    });
    const worker = client.newWorker({ concurrency: atOnce });
    await worker.start();
    return {
      async run(n) {
        const over = new Promise((resolve) => ended.set(n, resolve));
        await workflow.run({ n });
        await over;
        ended.delete(n);
      },
      ran: () => ran,
      async close() {
        await worker.stop();
        await backend.stop();
      },
    };
  },
};
