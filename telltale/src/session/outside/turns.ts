import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, Tables } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import type { GateRow, Standing } from './gate-row.ts';
import { createGateTable, type GateTable } from './gate-table.ts';
import type { HandGate } from './hand-gate.ts';
import { askFor, isIn, leaveRow, passOn, takeTurn } from './hand-row.ts';

export interface TurnEdges {
  readonly clock: Clock;
  readonly tables: Tables;
  readonly info: Store['info'];
  /** Asks for the end of a run, wherever it is worked on. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  /** Tells a run that waits that its turn has come, wherever it is. */
  readonly wake: (run: string) => Promise<void>;
  readonly onError: (thrown: unknown) => void;
}

/**
 * `concurrency` of manual triggers, over all processes of a store. The store counts the runs of each until they have
 * ended, whoever works on them. One that has to wait is on its log, waits there as any other does, and is told when its
 * turn has come; whoever tells it may die before, so it looks now and then.
 */
export interface Turns {
  /**
   * Before a run is made: throws `workflow_busy` where it is neither let in nor may wait. `above` is the session that
   * asks: a run that it belongs to cannot be waited for.
   */
  ask(gate: HandGate, run: string, above: string | undefined): Promise<void>;
  /** Whether a run that is on its log may go on; else it waits. */
  take(gate: HandGate, run: string): Promise<'in' | 'waits'>;
  /** It has ended, or could not be made. */
  leave(gate: HandGate, run: string): Promise<void>;
}

/** Streams above each other that are looked at. */
const MAX_ABOVE = 100;

const REPLACED = 'It was started again by hand, and its trigger says when_busy: replace.';

export function createTurns(edges: TurnEdges): Turns {
  const { clock, info, onError } = edges;
  /** Changes of this process to one row are made one after the other. */
  const tables = new Map<string, { readonly table: GateTable; users: number }>();
  /** Runs that were asked to end for another. */
  const asked = new Set<string>();

  const standingOf = async (run: string): Promise<Standing> => {
    const found = await info(run);
    if (found === undefined || found.head === 0) return 'missing';
    if (!hasEnded(found.status)) return 'there';
    asked.delete(run);
    return 'over';
  };
  const within = async <T>(name: string, work: (table: GateTable) => Promise<T>): Promise<T> => {
    const used = tables.get(name) ?? { table: createGateTable(edges.tables, name), users: 0 };
    tables.set(name, used);
    used.users++;
    try {
      return await work(used.table);
    } finally {
      if (--used.users === 0) tables.delete(name);
    }
  };
  const passed = (row: GateRow, { limit }: HandGate) => passOn(row, standingOf, clock.now(), limit.max);
  const wakeAll = (runs: readonly string[]) => {
    for (const run of runs) edges.wake(run).catch(onError);
  };
  const end = (run: string | undefined) => {
    if (run === undefined || asked.has(run)) return;
    asked.add(run);
    edges.cancel(run, REPLACED).catch((thrown: unknown) => {
      asked.delete(run); // the next look asks again
      onError(thrown);
    });
  };
  /** The run above a session that has the turn which is asked for: it would wait for itself. */
  const holderAbove = async (row: GateRow, above: string | undefined): Promise<string | undefined> => {
    let stream = above;
    for (let left = MAX_ABOVE; stream !== undefined && left > 0; left--) {
      if (isIn(row, stream)) return stream;
      stream = (await info(stream))?.parent;
    }
    return undefined;
  };

  return {
    ask: (gate, run, above) =>
      within(gate.name, async (table) => {
        const { limit } = gate;
        let busy: readonly string[] | undefined;
        let holder: string | undefined;
        let next: readonly string[] = [];
        await table.change(async (found) => {
          const { row, ...moved } = await passed(found, gate);
          next = moved.next;
          busy = undefined;
          const isFull = row.under.length >= limit.max;
          holder = isFull && limit.when_busy !== 'skip' ? await holderAbove(row, above) : undefined;
          const answer = askFor(row, run, clock.now(), limit);
          if (holder !== undefined || answer.kind === 'busy') busy = row.under.map((each) => each.run);
          else if (answer.kind === 'in') return { row: answer.row };
          return isSame(row, found) ? undefined : { row };
        });
        wakeAll(next);
        if (busy !== undefined) throw workflowBusy(gate, busy, holder);
      }),
    take: (gate, run) =>
      within(gate.name, async (table) => {
        let result: 'in' | 'waits' = 'in';
        let next: readonly string[] = [];
        let ending: readonly (string | undefined)[] = [];
        await table.change(async (found) => {
          result = 'in';
          next = [];
          ending = [];
          if (isIn(found, run)) return undefined;
          const moved = await passed(found, gate);
          next = moved.next.filter((each) => each !== run);
          const turn = takeTurn(moved.row, run, clock.now(), gate.limit);
          if (turn.kind === 'waits') {
            result = 'waits';
            if (gate.limit.when_busy === 'replace') ending = [...turn.dropped, turn.row.under[0]?.run];
          }
          return isSame(turn.row, found) ? undefined : turn;
        });
        wakeAll(next);
        for (const each of ending) end(each);
        return result;
      }),
    leave: (gate, run) =>
      within(gate.name, async (table) => {
        asked.delete(run);
        let next: readonly string[] = [];
        await table.change(async (found) => {
          const moved = await passed(leaveRow(found, run), gate);
          next = moved.next;
          return isSame(moved.row, found) ? undefined : moved;
        });
        wakeAll(next);
      }),
  };
}

const isSame = (one: GateRow, other: GateRow): boolean => JSON.stringify(one) === JSON.stringify(other);

const workflowBusy = (
  { workflow, limit: { max, when_busy } }: HandGate,
  under: readonly string[],
  holder: string | undefined,
) => {
  const options = { retryable: holder === undefined };
  if (holder !== undefined)
    return new RuntimeError(
      'workflow_busy',
      `The workflow "${workflow}" would wait for its own run ${holder}, from which it was called.`,
      {
        ...options,
        hint: 'Raise "max" of its manual trigger\'s concurrency, or call it by a step of type workflow.',
      },
    );
  const which = under.length === 0 ? '' : `: ${under.slice(0, 3).join(', ')}${under.length > 3 ? ', …' : ''}`;
  if (when_busy !== 'skip')
    return new RuntimeError(
      'workflow_busy',
      `Too many runs of the workflow "${workflow}" wait for their turn.`,
      {
        ...options,
        hint: `Wait until one has begun. Under way${which}`,
      },
    );
  return new RuntimeError(
    'workflow_busy',
    `The workflow "${workflow}" is under way, and its manual trigger allows ${max} at a time${which}.`,
    {
      ...options,
      hint: `Try again when it has ended, or cancel it: telltale cancel ${under[0] ?? 'RUN'}. "when_busy: queue" lets one more wait, "replace" takes its place.`,
    },
  );
};
