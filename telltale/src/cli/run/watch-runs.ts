import { decodeRunEvent } from '../../events/run-codec.ts';
import type { RunEvent } from '../../events/run-event.ts';
import { isRunEvent } from '../../session/log/stream-event.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../io.ts';
import { followLog } from '../session/follow-log.ts';

/** How soon a new run is noticed: only somebody who looks for mistakes waits for it. */
const LOOK_MS = 100;
const MAX_LISTED = 200;

/**
 * Gives every event of the runs that a session sets off or calls, and of those that they call, as they come. The
 * returned function ends it, once all that is committed has been given.
 */
export function watchRuns(
  store: Store,
  session: string,
  take: (event: RunEvent) => Promise<void>,
  { clock }: Pick<Io, 'clock'>,
): () => Promise<void> {
  const over = new AbortController();
  const known = new Map<string, Promise<void>>();
  const given = new Map<string, number>();
  const give = async (event: RunEvent) => {
    if (event.seq <= (given.get(event.run) ?? 0)) return;
    given.set(event.run, event.seq);
    await take(event);
  };
  const follow = (run: string, signal: AbortSignal) =>
    followLog(
      store,
      { stream: run, kind: 'run' },
      async (event) => {
        if (isRunEvent(event)) await give(event);
        return true;
      },
      { signal, clock },
    );
  const look = async () => {
    for (const { stream, parent } of await store.list({ kind: 'run', limit: MAX_LISTED }))
      if (parent !== undefined && (parent === session || known.has(parent)) && !known.has(stream))
        known.set(stream, follow(stream, over.signal));
  };
  let cancel = () => {};
  let looking = Promise.resolve();
  const again = () => {
    looking = look().then(() => {
      if (!over.signal.aborted) cancel = clock.after(LOOK_MS, again);
    });
    looking.catch(() => undefined); // told to whoever ends it
  };
  again();
  return async () => {
    cancel();
    over.abort();
    await looking;
    await look();
    await Promise.all(known.values());
    for (const run of known.keys())
      for (const line of await store.read(run, { from: (given.get(run) ?? 0) + 1 }))
        await give(decodeRunEvent(line, run));
  };
}
