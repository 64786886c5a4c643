import type { WorkEnd } from '../../engine/engine.ts';
import { readRunEvents } from '../../engine/read-run.ts';
import type { HeldRun } from './open-run.ts';
import type { BoardEntry, RunBoard } from './run-board.ts';
import type { RunsEdges } from './run-edges.ts';

/** Runs that wait and that others may answer: those beyond are taken up by whoever answers, or after a restart. */
const MAX_WATCHED = 1_000;

/** What a log shows of a run that others have taken up and parked again. */
const QUIET: ReadonlySet<string> = new Set(['workflow.resumed', 'workflow.waiting', 'audit']);

/**
 * Notices what others write about a run that waits: an answer, a signal, its end. While nobody has the stream, nobody
 * else is told of it.
 */
export function park(
  { store, engine, board }: Pick<RunsEdges, 'store' | 'engine'> & { readonly board: RunBoard },
  entry: BoardEntry,
  seq: number,
): void {
  const { run } = entry;
  if (entry.listeners.size === 0 && board.parked() >= MAX_WATCHED) return;
  const look = async () => {
    const info = await store.info(run);
    const { parked } = entry;
    if (info === undefined || parked === undefined) return;
    const isNew = info.head !== parked.seq || info.messages !== undefined;
    const isAwaited = entry.listeners.size > 0;
    if (isNew && (info.owner === undefined || isAwaited))
      engine.place('run', run, isAwaited ? 'here' : undefined);
  };
  // A look that a store cannot answer is one look less: the next comes when something moves.
  const unwatch = store.watch(run, () => void look().catch(() => undefined));
  board.park(entry, { seq, unwatch });
}

/** Until when it goes on waiting, where nothing has come since this process parked it, or since its owner let go of it. */
export async function stillWaits(
  { store, clock, board }: Pick<RunsEdges, 'store' | 'clock'> & { readonly board: RunBoard },
  entry: BoardEntry,
  { journal: { state }, writer }: HeldRun,
): Promise<WorkEnd | undefined> {
  const { parked, wasOwned = false } = entry;
  const { status, waiting, seq } = state;
  entry.wasOwned = false;
  if (parked === undefined && !wasOwned) return undefined;
  if (status !== 'waiting' || (waiting?.due ?? Number.POSITIVE_INFINITY) <= clock.now()) return undefined;
  if ((await writer.inbox()).length > 0) return undefined;
  if (parked !== undefined) {
    const since = await readRunEvents(store, state.id, parked.seq + 1);
    if (!since.every(({ type }) => QUIET.has(type))) return undefined;
    board.park(entry, { ...parked, seq });
  } else if (entry.listeners.size > 0) return undefined;
  return { kind: 'waiting', ...(waiting?.due === undefined ? {} : { due: waiting.due }) };
}
