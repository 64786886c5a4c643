import { join } from 'node:path';
import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { openSqliteStore } from '../../telltale/src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../telltale/src/store/store.ts';
import type { OpenContest, WorkflowContestant } from './contestant.ts';

const LINES = [
  '{"v":1,"seq":3,"at":1763254345123,"turn":0,"cause":[2,2],"type":"step.completed","step":"step_1","output":{"n":1},"ms":0,"attempts":1}',
  '{"v":1,"seq":4,"at":1763254345123,"turn":0,"cause":[1,1],"type":"step.started","step":"step_2","attempt":1,"input":{"n":1},"repeatable":false}',
];

/**
 * A bare loop on our own store: a stream for each workflow, and for each step one append of two events that are written
 * already, waited for. Its owners, fences and thread are ours; nothing is encoded, folded or called.
 */
export function loopOn(store: Store, steps: number): OpenContest {
  let ran = 0;
  const run = async (n: number): Promise<void> => {
    const head = { kind: 'run', name: 'bench', status: 'running', title: '' } as const;
    const { writer } = store.begin(`run_${n}`, head);
    for (let step = 0; step < steps; step += 1) {
      ran += 1;
      await new Promise<void>((resolve, reject) => {
        writer.append({ expectedSeq: 2 * step, events: LINES }, (error) =>
          error === undefined ? resolve() : reject(error),
        );
      });
    }
    await writer.release();
  };
  return { run, ran: () => ran, close: () => store.close() };
}

export const contestant: WorkflowContestant = {
  async open({ steps, folder }) {
    const path = join(folder, 'runs.db');
    const clock = createSystemClock();
    return loopOn(await openSqliteStore({ path, clock, pid: process.pid, durability: 'power' }), steps);
  },
};
