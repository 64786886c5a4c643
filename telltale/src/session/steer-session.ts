import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Store, StreamInfo } from '../store/store.ts';
import { readSession } from './read-session.ts';

/**
 * Puts a message before an agent: in its next turn, or once its session is resumed. Rejects where there is none to come.
 * Resolves to the message's number in the inbox.
 */
export async function steerSession(
  store: Store,
  session: string,
  text: string,
  from = 'user',
): Promise<number> {
  const info = await store.info(session);
  if (info !== undefined && (await hearsNoMore(store, info))) throw nobodyReads(session);
  return store.send(session, { kind: 'steer', from, body: text });
}

/**
 * Whether nobody would read a message: the session has completed, or is about to, while what nobody waits for has its
 * time. One that nobody works on by then would answer when it is resumed.
 */
export async function hearsNoMore(
  store: Store,
  { stream, kind, status, owner }: StreamInfo,
): Promise<boolean> {
  if (status === 'completed') return true;
  if (kind !== 'session' || owner === undefined) return false;
  const { chat, response, turn } = await readSession(store, stream);
  return chat !== true && response?.final === true && response.turn === turn;
}

export const nobodyReads = (session: string) =>
  new RuntimeError('session_completed', `${session} has come to its end: nobody would read the message.`, {
    hint: `Branch off from one of its events, and steer that: runtime.fork("${session}", SEQ).`,
  });

export const notAChat = (session: string) =>
  new RuntimeError('not_a_chat', `${session} is no chat: its agent works on what it was started with.`, {
    hint: 'Put a message before it with steer(text), or start it with chat: true.',
  });
