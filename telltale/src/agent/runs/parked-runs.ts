import type { WorkEnd } from '../../engine/engine.ts';
import { readRunEvents } from '../../engine/read-run.ts';
import type { StreamInfo } from '../../store/store.ts';
import type { HeldRun } from './open-run.ts';
import type { RunsDeps } from './run-environment.ts';
import type { BoardEntry, RunBoard } from './run-registry.ts';

/** Runs that wait and that others may answer: those beyond are taken up by whoever answers, or after a restart. */
const MAX_WATCHED = 1_000;
/** A fleet finds what is due within two seconds: what is due so soon is kept in mind here, to be exact. */
const SOON_MS = 30_000;

/** What a log shows of a run that others have taken up and parked again. */
const QUIET: ReadonlySet<string> = new Set(['workflow.resumed', 'workflow.waiting', 'audit']);

/**
 * Notices what others write about a run that was parked: an answer, a signal, its end, also where it came before this.
 * While nobody has the stream, nobody else is told of it.
 */
function watch(
  { store, engine, board }: Pick<RunsDeps, 'store' | 'engine'> & { readonly board: RunBoard },
  entry: BoardEntry,
): void {
  const { run, parked } = entry;
  if (parked === undefined || parked.unwatch !== undefined) return;
  const look = async () => {
    const info = await store.info(run);
    const { parked } = entry;
    if (info === undefined || parked === undefined) return;
    const isNew = info.head !== parked.seq || info.messages !== undefined;
    const isHeard = entry.listeners.size > 0;
    if (isNew && (info.owner === undefined || isHeard))
      engine.place('run', run, isHeard ? 'here' : undefined);
  };
  // A look that a store cannot answer is one look less: the next comes when something moves.
  const unwatch = store.watch(run, () => void look().catch(() => undefined));
  board.park(entry, { ...parked, unwatch });
}

/**
 * What this process keeps in mind of a run that it has parked and let go of, once whoever waited for that has left:
 * nothing where a fleet finds it when its time has come, or something comes for it. A run whose agent is written in code
 * can go on here only.
 */
export function rest(
  deps: Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly board: RunBoard },
  entry: BoardEntry,
  { journal: { state } }: HeldRun,
  end: WorkEnd & { readonly kind: 'waiting' },
): WorkEnd {
  const { engine, board } = deps;
  if (entry.listeners.size > 0) {
    watch(deps, entry);
    return end;
  }
  if (engine.remembers === 'fleet' && state.manifest.code !== true) return forgotten(deps, entry, end.due);
  if (board.parked() > MAX_WATCHED) board.unpark(entry);
  else watch(deps, entry);
  // It is read again when it goes on: ten thousand that were taken up would each keep an agent of their own.
  if (entry.isGroundRead === true) entry.ground = undefined;
  return end;
}

/** A fleet finds it: only what is due in a moment is kept in mind here. */
function forgotten(
  { board, clock }: Pick<RunsDeps, 'clock'> & { readonly board: RunBoard },
  { run }: BoardEntry,
  due: number | undefined,
): WorkEnd {
  board.forget(run);
  return { kind: 'waiting', ...(due === undefined || due > clock.now() + SOON_MS ? {} : { due }) };
}

/** Watches runs that were found waiting, as if they had been parked here. */
export function watchWaiting(
  deps: Pick<RunsDeps, 'store' | 'engine'> & { readonly board: RunBoard },
  { stream, head }: Pick<StreamInfo, 'stream' | 'head'>,
): void {
  if (deps.engine.remembers === 'fleet' || deps.board.parked() >= MAX_WATCHED) return;
  const entry = deps.board.entry(stream);
  if (entry.parked === undefined) deps.board.park(entry, { seq: head });
  watch(deps, entry);
}

/** What a run that waits for an agent is offered for may be in the inbox of that one. */
const WAITS_FOR_AGENT = /\bagent\b/;

/**
 * Whether a fleet has offered a run that waits for a time ahead of it, by the clock here: nothing has come onto its log
 * since whoever let go of it said until when. Taking it up would write two events each time.
 */
async function isEarly(
  { store, engine }: Pick<RunsDeps, 'store' | 'engine'>,
  { listeners }: BoardEntry,
  { journal: { state } }: HeldRun,
): Promise<boolean> {
  const { status, waiting, seq, id } = state;
  if (engine.remembers !== 'fleet' || status !== 'waiting' || waiting?.due === undefined) return false;
  if (listeners.size > 0 || WAITS_FOR_AGENT.test(waiting.for)) return false;
  const [last] = await readRunEvents(store, id, seq);
  return last?.type === 'workflow.waiting';
}

/** Until when it goes on waiting, where nothing has come since this process parked it, or since its owner let go of it. */
export async function stillWaits(
  deps: Pick<RunsDeps, 'store' | 'engine' | 'clock'> & { readonly board: RunBoard },
  entry: BoardEntry,
  held: HeldRun,
): Promise<WorkEnd | undefined> {
  const { store, clock, board } = deps;
  const {
    journal: { state },
    writer,
  } = held;
  const { parked, wasOwned = false, isAsked = false } = entry;
  const { status, waiting, seq, cancelling } = state;
  entry.wasOwned = false;
  entry.isAsked = false;
  if (cancelling !== undefined) return undefined; // whoever asked for that came too late for the last walk
  if (parked === undefined && !wasOwned && (isAsked || !(await isEarly(deps, entry, held)))) return undefined;
  if (status !== 'waiting' || (waiting?.due ?? Number.POSITIVE_INFINITY) <= clock.now()) return undefined;
  if ((await writer.inbox()).length > 0) return undefined;
  if (parked !== undefined) {
    const since = await readRunEvents(store, state.id, parked.seq + 1);
    if (!since.every(({ type }) => QUIET.has(type))) return undefined;
    board.park(entry, { ...parked, seq });
  } else if (entry.listeners.size > 0) return undefined;
  else if (!wasOwned) return forgotten(deps, entry, waiting?.due);
  return { kind: 'waiting', ...(waiting?.due === undefined ? {} : { due: waiting.due }) };
}
