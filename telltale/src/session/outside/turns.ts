import type { Clock } from '../../kernel/clock.ts';
import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, Tables } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { waitsForItself, waitsInACircle, workflowBusy } from './busy-errors.ts';
import type { Waiting } from './find-circle.ts';
import type { GateRow, Standing } from './gate-row.ts';
import { createGateTable, type GateTable } from './gate-table.ts';
import type { HandGate } from './hand-gate.ts';
import { askFor, isIn, leaveRow, passOn, takeTurn } from './hand-row.ts';

export interface TurnDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly tables: Tables;
  readonly info: Store['info'];
  /** Asks for the end of a run, wherever it is worked on. */
  readonly cancel: (run: string, reason: string) => Promise<void>;
  /** Tells a run that waits that its turn has come, wherever it is. */
  readonly wake: (run: string) => Promise<void>;
  /** Whether a run waits for what waits for it: `findCircle`. */
  readonly circle: (run: string, under: readonly string[]) => Promise<readonly Waiting[] | undefined>;
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
   * asks: runs that it belongs to cannot be waited for.
   */
  ask(gate: HandGate, run: string, above: string | undefined): Promise<void>;
  /** Whether a run that is on its log may go on; else it waits for some other, or is to end for another. */
  take(gate: HandGate, run: string, above: string | undefined): Promise<TurnTaken>;
  /** It has ended, or could not be made. */
  leave(gate: HandGate, run: string): Promise<void>;
}

export type TurnTaken =
  | { readonly kind: 'in' }
  | { readonly kind: 'waits'; readonly behind: string }
  /** It would wait for ever. */
  | { readonly kind: 'stuck'; readonly error: RuntimeError }
  | { readonly kind: 'dropped' };

/** Streams above each other that are looked at. */
const MAX_ABOVE = 100;
/** Runs whose ends are looked for side by side. */
const LOOKS = 32;

export const REPLACED = 'It was started again by hand, and its trigger says when_busy: replace.';

export function createTurns(deps: TurnDeps): Turns {
  const { clock, info, onError } = deps;
  const standingsOf = lookForEnds(info);
  /** Changes of this process to one row are made one after the other. */
  const tables = new Map<string, { readonly table: GateTable; users: number }>();

  const within = async <T>(name: string, work: (table: GateTable) => Promise<T>): Promise<T> => {
    const used = tables.get(name) ?? { table: createGateTable(deps.tables, name), users: 0 };
    tables.set(name, used);
    used.users++;
    try {
      return await work(used.table);
    } finally {
      if (--used.users === 0) tables.delete(name);
    }
  };
  /** Changes the row behind what has moved in it by itself, and tells those whose turn has come. */
  const change = async (
    table: GateTable,
    { limit }: HandGate,
    decide: (row: GateRow) => GateRow | Promise<GateRow>,
    run?: string,
  ): Promise<void> => {
    let next: readonly string[] = [];
    await table.change(async (found) => {
      const passed = await passOn(found, standingsOf, clock.now(), limit.max);
      next = passed.next;
      const row = await decide(passed.row);
      return row === found ? undefined : { row: { ...row, max: limit.max } };
    });
    for (const each of next) if (each !== run) deps.wake(each).catch(onError);
  };
  const stillThere = async (runs: readonly string[]): Promise<readonly string[]> => {
    const standings = await standingsOf(runs);
    return runs.filter((_, at) => standings[at] === 'there');
  };
  const runsAbove = async (above: string | undefined): Promise<ReadonlySet<string>> => {
    const all = new Set<string>();
    for (let stream = above; stream !== undefined && all.size < MAX_ABOVE; ) {
      all.add(stream);
      stream = (await info(stream))?.parent;
    }
    return all;
  };

  return {
    ask: (gate, run, above) =>
      within(gate.name, async (table) => {
        const { limit } = gate;
        let refusal: (() => Error) | undefined;
        await change(table, gate, async (row) => {
          refusal = undefined;
          const under = row.under.map((each) => each.run);
          if (limit.when_busy !== 'skip' && above !== undefined && under.length >= limit.max) {
            const all = await runsAbove(above);
            if (under.every((each) => all.has(each))) refusal = () => waitsForItself(gate, under[0] ?? '');
          }
          const answer = askFor(row, run, clock.now(), limit);
          if (answer.kind === 'busy') refusal = () => workflowBusy(gate, under);
          return answer.kind === 'in' ? answer.row : row;
        });
        if (refusal !== undefined) throw refusal();
      }),
    take: (gate, run, above) =>
      within(gate.name, async (table) => {
        let taken: TurnTaken = { kind: 'in' };
        let ending: readonly string[] = [];
        let under: readonly string[] = [];
        const decide = async (row: GateRow): Promise<GateRow> => {
          const turn = takeTurn(row, run, clock.now(), gate.limit);
          const [oldest] = turn.row.under;
          under = turn.kind === 'waits' ? turn.row.under.map((each) => each.run) : [];
          taken = turn.kind === 'waits' ? { kind: 'waits', behind: oldest?.run ?? '' } : { kind: turn.kind };
          ending = [];
          if (turn.kind !== 'waits' || gate.limit.when_busy !== 'replace') return turn.row;
          const all = await runsAbove(above);
          const other = turn.row.under.find((each) => !all.has(each.run));
          const dropped = await stillThere(turn.row.dropped ?? []);
          ending = [...dropped, ...(other === undefined ? [] : [other.run])];
          return dropped.length === (turn.row.dropped ?? []).length ? turn.row : { ...turn.row, dropped };
        };
        await change(table, gate, decide, run);
        for (const each of ending) deps.cancel(each, REPLACED).catch(onError);
        if (above === undefined || under.length === 0 || gate.limit.when_busy !== 'queue') return taken;
        // Where a log cannot be read, it waits, and looks again.
        const circle = await deps.circle(run, under).catch((thrown: unknown) => void onError(thrown));
        return circle === undefined
          ? taken
          : { kind: 'stuck', error: waitsInACircle(gate, run, under, circle) };
      }),
    leave: (gate, run) =>
      within(gate.name, (table) => leaveTable(deps, table, run, gate.limit.max).then(() => undefined)),
  };
}

/** Takes a run out of a row, and tells those whose turn has come. False where the row does not know it. */
export async function leaveTable(
  { clock, info, wake, onError }: Omit<TurnDeps, 'tables' | 'cancel' | 'circle'>,
  table: GateTable,
  run: string,
  max: number,
): Promise<boolean> {
  const standingsOf = lookForEnds(info);
  let next: readonly string[] = [];
  const left = await table.change(async (found) => {
    if (!knows(found, run)) return undefined;
    const passed = await passOn(leaveRow(found, run), standingsOf, clock.now(), max);
    next = passed.next;
    return passed;
  });
  for (const each of next) wake(each).catch(onError);
  return left !== undefined;
}

const knows = (row: GateRow, run: string): boolean =>
  isIn(row, run) || row.queue.includes(run) || row.dropped?.includes(run) === true;

const lookForEnds =
  (info: Store['info']) =>
  async (runs: readonly string[]): Promise<readonly Standing[]> => {
    const found: Standing[] = [];
    for (let at = 0; at < runs.length; at += LOOKS)
      found.push(...(await Promise.all(runs.slice(at, at + LOOKS).map((run) => standingOf(info, run)))));
    return found;
  };

async function standingOf(info: Store['info'], run: string): Promise<Standing> {
  const found = await info(run);
  if (found === undefined || found.head === 0) return 'missing';
  return hasEnded(found.status) ? 'over' : 'there';
}
