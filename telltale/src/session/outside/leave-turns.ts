import type { Clock } from '../../kernel/clock.ts';
import type { Store } from '../../store/store.ts';
import { RUN_TURN } from '../runs/run-messages.ts';
import { readGate } from './gate-row.ts';
import { createGateTable, GATES } from './gate-table.ts';
import { leaveTable } from './turns.ts';

/** Rows that are looked through: one for each workflow of an agent that only so many may run at a time. */
const MAX_ROWS = 10_000;

/** Tells a run that waits that its turn has come: whoever has it parked, or finds it, goes on with it. */
export const wakeForTurn = (store: Store) => async (run: string) =>
  void (await store.send(run, { kind: RUN_TURN, from: 'runtime', body: null }));

/** Gives up the turn of a run that was ended by somebody who does not know its workflow. */
export async function leaveTurns(store: Store, clock: Pick<Clock, 'now'>, run: string): Promise<void> {
  const { tables, info } = store;
  const wake = wakeForTurn(store);
  for (const name of await tables.keys(GATES, { prefix: 'by hand ', limit: MAX_ROWS })) {
    const { max } = readGate(await tables.get(GATES, name));
    const deps = { clock, info, wake, onError: () => undefined }; // those that wait look themselves
    if (max !== undefined && (await leaveTable(deps, createGateTable(tables, name), run, max))) return;
  }
}
