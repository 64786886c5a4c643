import { openReviews } from '../../events/fold-reviews.ts';
import type { SessionState } from '../../events/state.ts';
import { usageOf } from '../../events/usage-of.ts';
import type { Store } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { readSession } from '../read-session.ts';
import type { OnWaiting, SessionResult } from '../runtime-types.ts';

interface Found {
  readonly result: SessionResult;
  /** The last event of its log by then. */
  readonly head: number;
}

/** How a session ended, by its log, once it has; with `release` also that it waits, for a person or what it called. */
export function resultOnLog(store: Store, session: string, onWaiting: OnWaiting): Promise<Found> {
  return new Promise((resolve, reject) => {
    let isLooking = false;
    let again = false;
    const look = async () => {
      do {
        again = false;
        const found = await resultNow(store, session, onWaiting);
        if (found === undefined) continue;
        unwatch();
        resolve(found);
        return;
      } while (again);
    };
    const moved = () => {
      again = true;
      if (isLooking) return;
      isLooking = true;
      look()
        .catch((thrown: unknown) => {
          unwatch();
          reject(thrown);
        })
        .finally(() => {
          isLooking = false;
        });
    };
    const unwatch = store.watch(session, moved);
    moved();
  });
}

async function resultNow(store: Store, session: string, onWaiting: OnWaiting): Promise<Found | undefined> {
  const status = (await store.info(session))?.status;
  if (status === undefined || !(hasEnded(status) || (status === 'waiting' && onWaiting === 'release')))
    return undefined;
  const state = await readSession(store, session);
  return isOver(state, onWaiting) ? { result: resultOf(state), head: state.seq } : undefined;
}

/** A chat that waits for its next message has not come to a result. */
const isOver = (state: SessionState, onWaiting: OnWaiting): boolean =>
  hasEnded(state.status) || (onWaiting === 'release' && state.status === 'waiting' && !state.idle);

function resultOf(state: SessionState): SessionResult {
  const { id, result, error, totals } = state;
  const status = state.status === 'running' ? 'interrupted' : state.status;
  return {
    session: id,
    status,
    turns: totals.turns,
    cost_usd: totals.cost_usd,
    ...(status !== 'completed' || result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
    ...(status === 'waiting' ? { reviews: openReviews(state) } : {}),
    usage: usageOf(totals),
  };
}
