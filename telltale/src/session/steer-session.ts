import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store } from '../store/store.ts';

/** Puts a message before an agent: in its next turn, or once its session is resumed. Rejects where there is none to come. */
export async function steerSession(
  store: Pick<Store, 'info' | 'send'>,
  session: string,
  text: string,
  from = 'user',
): Promise<void> {
  if ((await store.info(session))?.status === 'completed') throw nobodyReads(session);
  await store.send(session, { kind: 'steer', from, body: text });
}

export const nobodyReads = (session: string) =>
  new RuntimeError('session_completed', `${session} has completed: nobody would read the message.`, {
    hint: `Branch off from one of its events, and steer that: runtime.fork("${session}", SEQ).`,
  });
