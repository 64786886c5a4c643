import type { Json } from '../../kernel/json.ts';
import type { Store } from '../../store/store.ts';
import { byteSize } from '../metadata/value-size.ts';
import { readEvents, readSession } from '../read-session.ts';
import type { SessionResult } from '../runtime-types.ts';
import {
  childCancelled,
  childFailed,
  childInterrupted,
  childStalled,
  resultTooLarge,
} from './child-errors.ts';

export type ChildEnd = Pick<SessionResult, 'session' | 'status' | 'result' | 'error'>;

/** Who cancels a sub-agent's session with the action that called it. */
export const BY_PARENT = 'parent';

const MAX_RESULT_BYTES = 1024 * 1024;

/** What a sub-agent's end is to the action that called it: its result, or the error that this throws. */
export function resultOf(agent: string, { session, status, result = null, error }: ChildEnd): Json {
  switch (status) {
    case 'completed':
      if (byteSize(result) > MAX_RESULT_BYTES) throw resultTooLarge(agent, session, MAX_RESULT_BYTES);
      return result;
    case 'failed':
      throw childFailed(agent, session, error ?? NO_REASON);
    case 'stalled':
      throw childStalled(agent, session, (error ?? NO_REASON).message);
    case 'cancelled':
      throw childCancelled(agent, session);
    case 'waiting':
    case 'interrupted':
      throw childInterrupted(agent, session, error?.message);
  }
}

const NO_REASON = { code: 'failed', message: 'it says no reason.', retryable: false };

/**
 * How a sub-agent's session ended before this process came; undefined where it goes on. One that was cancelled with its
 * action goes on, too: that the action is run again means that nobody has written down its end.
 */
export async function endedBefore(store: Store, session: string): Promise<ChildEnd | undefined> {
  const { status, result, error } = await readSession(store, session);
  if (status === 'running' || status === 'waiting') return undefined;
  if (status === 'cancelled' && (await cancelledBy(store, session)) === BY_PARENT) return undefined;
  return {
    session,
    status,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  };
}

async function cancelledBy(store: Store, session: string): Promise<string | undefined> {
  const events = await readEvents(store, session);
  const end = events.findLast((event) => event.type === 'session.cancelled');
  return end?.type === 'session.cancelled' ? end.by : undefined;
}
