import type { ClientView, SettleOptions } from './client-types.ts';
import { viewOf } from './client-view.ts';
import type { BoardListener, RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import type { RunResult } from './run-types.ts';

/**
 * Works on a run until its client can be told something: its next task, the end, what else it waits for; or until the
 * time is over. Rejects where this process cannot go on with it.
 */
export async function settleRun(
  deps: RunsDeps & { readonly board: RunBoard },
  run: string,
  isTaken: () => Promise<boolean>,
  { waitMs, signal, onMoved }: Pick<SettleOptions, 'waitMs' | 'signal' | 'onMoved'>,
): Promise<ClientView> {
  const { store, engine, board, clock } = deps;
  const deadline = clock.now() + waitMs;
  const watched = new Map<string, () => void>();
  let placed = false;
  /** Whether what its log says of its waiting is the last word. */
  let rests = false;
  let failure: { readonly thrown: unknown } | undefined;
  /** What it ended with, after the commit. */
  let ended: ClientView | undefined;
  let moved = false;
  let wake: () => void = () => undefined;
  const poke = () => {
    moved = true;
    wake();
  };
  const watch = (stream: string) => {
    if (!watched.has(stream)) watched.set(stream, store.watch(stream, poke));
  };
  const come = () => {
    rests = true;
    poke();
  };
  const listener: BoardListener = {
    onEnd(result) {
      ended = viewOfEnd(result);
      poke();
    },
    onWaiting: come,
    onOwned: come, // who has it goes on with it
    onWork() {
      rests = false;
    },
    onError(thrown) {
      failure = { thrown };
      poke();
    },
  };
  const { listeners } = board.entry(run);
  listeners.add(listener);
  const disarm = clock.after(waitMs, poke);
  signal?.addEventListener('abort', poke, { once: true });
  try {
    for (;;) {
      moved = false;
      watch(run);
      const view = ended ?? ((await isTaken()) ? await viewOf(deps, run, watch) : BUSY);
      if (failure !== undefined) throw failure.thrown;
      signal?.throwIfAborted();
      const isLate = clock.now() >= deadline;
      if (isSettled(view, deadline, rests || isLate) || isLate) return view;
      if (view.kind === 'busy') onMoved?.(view.done);
      if (!placed && board.find(run)?.live === undefined) {
        placed = true;
        engine.place('run', run, 'here');
      }
      if (!moved)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    disarm();
    signal?.removeEventListener('abort', poke);
    listeners.delete(listener);
    for (const unwatch of watched.values()) unwatch();
  }
}

/** Undefined where this process has only let go of it. */
function viewOfEnd({ status, output = null, error }: RunResult): ClientView | undefined {
  if (status === 'completed') return { kind: 'completed', output };
  if (status === 'failed' && error !== undefined) return { kind: 'failed', error };
  return undefined; // the log has it
}

const BUSY: ClientView = { kind: 'busy', done: 0 };

function isSettled(view: ClientView, deadline: number, rests: boolean): boolean {
  switch (view.kind) {
    case 'task':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return true;
    case 'waiting':
      return rests && (view.due === undefined || view.due > deadline);
    case 'busy':
      return false;
  }
}
