import { isTurn } from '../../events/run-event.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { cancelRun } from './call-run.ts';
import { followRun } from './follow-run.ts';
import type { BoardListener, RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import type { RunResult, WorkflowRun } from './run-types.ts';

export interface LiveRunOptions {
  readonly onWaiting?: 'release' | 'hold' | undefined;
  readonly signal?: AbortSignal | undefined;
}

const STAY_MS = 3_600_000;

/** A run that was placed, as its starter holds it. `ready` resolves once its stream is there. */
export function createLiveRun(
  deps: RunsDeps & { readonly board: RunBoard },
  id: string,
  ready: Promise<void>,
  { onWaiting = 'release', signal }: LiveRunOptions,
): WorkflowRun {
  const { board, store } = deps;
  const entry = board.entry(id);
  let finish: (result: RunResult) => void = () => undefined;
  let refuse: (error: unknown) => void = () => undefined;
  const result = new Promise<RunResult>((resolve, reject) => {
    finish = resolve;
    refuse = reject;
  });
  result.catch(() => undefined); // a caller that only reads events is not ended by it
  let begun = false;
  const listener: BoardListener = {
    onEnd: finish,
    onWork() {
      begun = true;
    },
    onOwned(error) {
      if (begun) return; // somebody else goes on with it
      entry.listeners.delete(listener);
      refuse(error);
    },
    onWaiting(waiting) {
      if (isTurn(waiting.for)) stay();
      else if (onWaiting === 'release') finish({ run: id, status: 'waiting', waiting });
    },
    onError: refuse,
  };
  entry.listeners.add(listener);
  const abort = () => void cancel(reasonOf(signal?.reason)).catch(refuse);
  // A run that is held may wait for a message only, and nothing else may keep the process.
  let disarm: () => void = () => undefined;
  const stay = () => {
    disarm();
    disarm = deps.clock.after(STAY_MS, stay);
  };
  if (onWaiting === 'hold') stay();
  const leave = () => {
    disarm();
    entry.listeners.delete(listener);
    signal?.removeEventListener('abort', abort);
  };
  result.then(leave, leave);
  ready.catch(refuse);
  const cancel = async (reason: string) => {
    await ready;
    await cancelRun(deps, id, reason, 'user');
  };
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return {
    id,
    result,
    events: { [Symbol.asyncIterator]: () => followRun(store, id, ready, result) },
    subscribe(listener) {
      let ended = false;
      const read = async () => {
        // One that cannot begin says so by its result.
        const isThere = await ready.then(
          () => true,
          () => false,
        );
        if (!isThere) return;
        for await (const event of followRun(store, id, ready, result)) {
          if (ended) return;
          listener(event);
        }
      };
      read().catch(deps.onError);
      return () => {
        ended = true;
      };
    },
    async cancel(reason = 'asked to') {
      await cancel(reason);
      await result;
    },
    async interrupt() {
      // One that only waits is let go of already.
      if (entry.letGo === undefined) finish({ run: id, status: 'interrupted' });
      else entry.letGo();
      await result.catch(() => undefined);
    },
  };
}

const reasonOf = (reason: unknown): string =>
  reason instanceof RuntimeError || reason instanceof Error ? reason.message : String(reason);
