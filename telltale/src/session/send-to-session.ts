import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store } from '../store/store.ts';
import { sessionUnknown } from './read-session.ts';

/** Leaves a message in the inbox of a session, and gives its number there. Throws `session_unknown`, as reading it does. */
export async function sendToSession(
  store: Store,
  session: string,
  message: Parameters<Store['send']>[1],
): Promise<number> {
  try {
    return await store.send(session, message);
  } catch (thrown) {
    const isUnknown = thrown instanceof RuntimeError && thrown.code === 'stream_unknown';
    throw isUnknown ? sessionUnknown(session, store.location) : thrown;
  }
}
