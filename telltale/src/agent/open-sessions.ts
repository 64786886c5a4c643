import { resolve } from 'node:path';
import { createSystemClock } from '../lib/clock.ts';
import { createIdSource } from '../lib/ids.ts';
import { openStore } from '../store/open-store.ts';
import { forkSession } from './fork-session.ts';
import { stateAt } from './log/read-log.ts';
import { sendToSession, steerSession } from './messages.ts';
import { readEvents, readSession } from './read-session.ts';
import { answerReview } from './reviews/answer-review.ts';
import { readReview } from './reviews/read-review.ts';
import { listReviews } from './reviews/review-table.ts';
import type { Runtime, RuntimeOptions } from './runtime-types.ts';

/** What can be done with sessions without running any. */
export type Sessions = Pick<
  Runtime,
  'store' | 'fork' | 'events' | 'state' | 'steer' | 'cancel' | 'reviews' | 'review' | 'answer' | 'close'
>;

export interface OpenSessionsOptions extends Pick<RuntimeOptions, 'durability' | 'clock' | 'cwd' | 'env'> {
  readonly store: string;
  /** Whether a database without a store is refused with `store_empty`. */
  readonly mustExist?: boolean;
  /** Whether a file that cannot be written is opened to be looked at. */
  readonly mayOnlyRead?: boolean;
}

/** Opens a store to look at its sessions: a tenth of the modules that a runtime needs. */
export async function openSessions(options: OpenSessionsOptions): Promise<Sessions> {
  const clock = options.clock ?? createSystemClock();
  const cwd = resolve(options.cwd ?? '.');
  const { durability = 'power', mustExist = false, mayOnlyRead = false } = options;
  const store = await openStore(options.store, { cwd, clock, durability, mustExist, mayOnlyRead });
  return {
    store,
    fork: (session, seq, { id = createIdSource({ clock }).next('ses'), agent, ...changes } = {}) =>
      forkSession(store, session, seq, id, clock, {
        ...changes,
        async agent(state) {
          if (agent !== undefined) return agent;
          // Reading manifests is dear, and only variables are checked against them.
          const { loadAgain } = await import('./ready-to-resume.ts');
          return loadAgain(state, { env: options.env ?? {}, cwd });
        },
      }),
    events: (session, from = 1) => readEvents(store, session, from),
    state: (session, seq) => stateAt(store, session, seq, readSession(store, session, seq)),
    steer: (session, text, from) => steerSession({ store, clock }, session, text, from),
    async cancel(session, reason = 'asked to', from = 'user') {
      await sendToSession(store, session, { kind: 'cancel', from, body: reason });
    },
    reviews: (filter) => listReviews(store, filter),
    review: (id) => readReview(store, id),
    answer: (review, answer) => answerReview(store, clock, review, answer),
    close: () => store.close(),
  };
}
