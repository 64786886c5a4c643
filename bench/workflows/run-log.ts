import { join } from 'node:path';
import { createRunLog } from '../../telltale/src/engine/run-log.ts';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { emptyRun } from '../../telltale/src/log/run-state.ts';
import { openSqliteStore } from '../../telltale/src/store/sqlite/open-sqlite-store.ts';
import type { WorkflowContestant } from './contestant.ts';

/** Our log alone, with the events that a run writes, and nobody who reads a definition: what the machine adds shows. */
export const contestant: WorkflowContestant = {
  async open({ steps, folder }) {
    const clock = createSystemClock();
    const store = await openSqliteStore({
      path: join(folder, 'runs.db'),
      clock,
      pid: process.pid,
      durability: 'power',
    });
    let ran = 0;
    const run = async (n: number): Promise<number> => {
      const asked = performance.now();
      const id = `run_${n}`;
      const head = { kind: 'run', name: 'bench', status: 'running', title: '' } as const;
      const writer = await store.create(id, head);
      const log = createRunLog({
        writer,
        state: emptyRun(),
        clock,
        onLost: (error) => {
          throw error;
        },
      });
      log.append({
        type: 'workflow.started',
        workflow: 'bench',
        manifest: { path: 'bench.yml', hash: 'bench', agent: 'bench' },
        input: {},
        origin: { chain: ['bench'], agents: ['bench'] },
        vars: {},
      });
      let began = 0;
      for (let step = 1; step <= steps; step += 1) {
        const name = `step_${step}`;
        const cause = log.append({
          type: 'step.started',
          step: name,
          attempt: 1,
          input: { n },
          repeatable: false,
        });
        await log.flushed();
        if (step === 1) began = performance.now();
        ran += 1;
        log.append({ type: 'step.completed', step: name, output: { n }, ms: 0, attempts: 1 }, cause);
      }
      log.append({ type: 'workflow.completed', output: { n } });
      await log.flushed();
      await writer.release();
      return began - asked;
    };
    return {
      run: async (n) => void (await run(n)),
      start: run,
      ran: () => ran,
      close: () => store.close(),
    };
  },
};
