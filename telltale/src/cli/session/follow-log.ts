import type { SessionEvent } from '../../events/event.ts';
import type { Store } from '../../store/store.ts';
import { readLog } from './read-log.ts';

const ENDS: ReadonlySet<string> = new Set([
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
]);

/**
 * Gives every committed event of a stream, from the first on, as they come, whoever writes them; resolves when the
 * session has ended, when `take` says that it wants no more, or when `signal` is aborted.
 */
export async function followLog(
  store: Store,
  stream: string,
  take: (event: SessionEvent) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  let moved = false;
  let wake = () => {};
  const notify = () => {
    moved = true;
    wake();
  };
  const stopWatching = store.watch(stream, notify);
  signal.addEventListener('abort', notify, { once: true });
  try {
    let next = 1;
    let hasEnded = false;
    while (!signal.aborted) {
      moved = false;
      for await (const event of readLog(store, stream, { from: next })) {
        next = event.seq + 1;
        if (event.type.startsWith('session.')) hasEnded = ENDS.has(event.type);
        if (!(await take(event))) return;
      }
      if (hasEnded) return;
      if (moved) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stopWatching();
    signal.removeEventListener('abort', notify);
  }
}
