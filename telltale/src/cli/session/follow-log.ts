import { readStream } from '../../session/log/read-log.ts';
import type { StreamEvent, StreamRef } from '../../session/log/stream-event.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../io.ts';

const ENDS: ReadonlySet<string> = new Set([
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
]);
const RUN_ENDS: ReadonlySet<string> = new Set([
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
]);

/** A look at the log without being told to; it also keeps a process alive that has nothing else to do. */
const LOOK_MS = 1000;

/**
 * Gives every committed event of a stream, from the first on, as they come, whoever writes them; resolves when the
 * session or run has ended, when `take` says that it wants no more, or when `signal` is aborted.
 */
export async function followLog(
  store: Store,
  ref: StreamRef,
  take: (event: StreamEvent) => Promise<boolean>,
  { signal, clock }: Pick<Io, 'signal' | 'clock'>,
  /** Called when all that was there has been given, and whenever nothing has come for a while. */
  quiet?: () => Promise<void>,
): Promise<void> {
  let moved = false;
  let wake = () => {};
  const notify = () => {
    moved = true;
    wake();
  };
  const stopWatching = store.watch(ref.stream, notify);
  signal.addEventListener('abort', notify, { once: true });
  try {
    const [group, ends] = ref.kind === 'session' ? ['session.', ENDS] : ['workflow.', RUN_ENDS];
    let next = 1;
    let hasEnded = false;
    let hasCaughtUp = false;
    while (!signal.aborted) {
      moved = false;
      for await (const event of readStream(store, ref, { from: next })) {
        next = event.seq + 1;
        if (event.type.startsWith(group)) hasEnded = ends.has(event.type);
        if (!(await take(event))) return;
      }
      if (hasEnded) return;
      if (!hasCaughtUp) await quiet?.();
      hasCaughtUp = true;
      if (moved) continue;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(LOOK_MS, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
      if (!moved) await quiet?.();
    }
  } finally {
    stopWatching();
    signal.removeEventListener('abort', notify);
  }
}
