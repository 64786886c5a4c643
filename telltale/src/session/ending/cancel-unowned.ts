import type { Engine } from '../../engine/engine.ts';
import { readRun } from '../../engine/read-run.ts';
import { encodeEvent } from '../../events/codec.ts';
import { openReviews } from '../../events/fold-reviews.ts';
import { encodeRunEvent } from '../../events/run-codec.ts';
import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Append, Store, StreamInfo, StreamWriter } from '../../store/store.ts';
import { openChildren } from '../children/child-id.ts';
import { BY_PARENT } from '../children/child-result.ts';
import { leadRun } from '../guide/lead-run.ts';
import { leaveTurns } from '../outside/leave-turns.ts';
import { readSession } from '../read-session.ts';
import { closeRow } from '../reviews/review-table.ts';
import { RUN_CANCEL } from '../runs/run-messages.ts';
import { tellEnd } from '../runs/tell-end.ts';
import type { Runtime } from '../runtime-types.ts';
import { hasEnded } from './has-ended.ts';
import { openRunReviews, runEndEvents } from './run-end-events.ts';
import { runsOf, sessionsOf } from './runs-of.ts';
import { sessionEndEvents } from './session-end-events.ts';
import { usedBelow, usedInHand } from './used-in-hand.ts';
import { wayToEnd } from './way-to-end.ts';

export interface CancelUnowned {
  readonly reason: string;
  readonly by: string;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether runs end at once, though what their steps have done is not undone then. */
  readonly force?: boolean;
  /**
   * Tells a run of a session to end: one that somebody works on, or has to, to undo what its steps have done. Without
   * it the word is left in the run's inbox.
   */
  readonly tellRun?: (run: StreamInfo, reason: string) => Promise<void>;
}

/** What became of it: it may have ended since it was looked at, or somebody has taken it. Then the inbox is the way. */
export type UnownedEnd = 'ended' | 'ended_before' | 'owned';

/** Ends a session that nobody works on, as its owner would: what it called or set off, then what was open in it, then the session. */
export function cancelUnowned(
  runtime: Pick<Runtime, 'store' | 'state'>,
  session: string,
  given: CancelUnowned,
): Promise<UnownedEnd> {
  const { store } = runtime;
  const { reason, by, clock } = given;
  return ifUnowned(store, session, async (writer) => {
    const state = await runtime.state(session);
    if (hasEnded(state.status)) return 'ended_before';
    // Those that work for it are over before it is.
    for (const child of openChildren(state)) {
      const known = await store.info(child);
      if (known !== undefined && isLeft(known))
        await cancelUnowned(runtime, child, { ...given, by: BY_PARENT });
    }
    await endRunsOf(store, session, given);
    const reviews = openReviews(state).map(({ review }) => review);
    // It comes from outside the log: a person asked for it.
    const asked = { stream: session, seq: 0, depth: 0 };
    const used = await usedInHand(store, state);
    const copies = (await usedBelow(store, state)).map(({ body, of }) => ({
      body,
      cause: { stream: of.session, seq: of.seq, depth: of.cause.depth + 1 },
    }));
    const ends = sessionEndEvents(state, reason, by, used).map((body) => ({ body, cause: asked }));
    const head = { at: clock.now(), session, turn: state.turn };
    const events = [...copies, ...ends].map(({ body, cause }, index) =>
      encodeEvent({ ...head, seq: state.seq + 1 + index, cause }, body),
    );
    await write(writer, { expectedSeq: state.seq, events, ...withdrawn(reviews, session) });
    return 'ended';
  });
}

/** Ends the runs that a session set off or called. The one that leads it ends with it, whatever it has done. */
async function endRunsOf(store: Store, session: string, given: CancelUnowned): Promise<void> {
  const reason = `Its session was cancelled: ${given.reason}`;
  for (const run of await runsOf(store, session)) {
    if (run.head === 0 || hasEnded(run.status)) continue;
    const isFree = given.force === true || run.stream === leadRun(session);
    const way = isFree ? 'at once' : await wayToEnd(store, run);
    const ends = { ...given, reason, by: 'session' };
    if (way === 'at once' && isLeft(run) && (await cancelUnownedRun(store, run.stream, ends)) !== 'owned')
      continue;
    if (given.tellRun !== undefined) await given.tellRun(run, reason);
    else await store.send(run.stream, { kind: RUN_CANCEL, from: 'session', body: reason });
  }
}

/**
 * Ends a run that nobody works on, as its owner would, but for what undoes its steps: that would need its agent. What it
 * called ends before it, and whoever waits for it is told.
 */
export function cancelUnownedRun(store: Store, run: string, given: CancelUnowned): Promise<UnownedEnd> {
  const { reason, by, clock } = given;
  return ifUnowned(store, run, async (writer) => {
    if (hasEnded((await readRun(store, run)).status)) return 'ended_before';
    for (const called of await runsOf(store, run))
      if (isLeft(called)) await cancelUnownedRun(store, called.stream, { ...given, by: run });
    const reader = { store, state: (session: string) => readSession(store, session) };
    for (const worker of await sessionsOf(store, run))
      if (isLeft(worker)) await cancelUnowned(reader, worker.stream, { ...given, by: run });
    const state = await readRun(store, run);
    // It comes from outside the log: a person asked for it.
    const head = { at: clock.now(), run, cause: { stream: run, seq: 0, depth: 0 } };
    const events = runEndEvents(state, reason, by).map((body, index) =>
      encodeRunEvent({ ...head, seq: state.seq + 1 + index }, body),
    );
    await write(writer, { expectedSeq: state.seq, events, ...withdrawn(openRunReviews(state), run) });
    // No process works on whoever is told from here: the message is there when one does.
    const signal: Engine['signal'] = async (_kind, stream, message) =>
      void (await store.send(stream, message));
    await tellEnd({ store, engine: { signal } }, await readRun(store, run));
    await leaveTurns(store, clock, run);
    return 'ended';
  });
}

/** Whether it is alive, and nobody works on it. */
const isLeft = ({ head, owner, status }: StreamInfo): boolean =>
  head > 0 && owner === undefined && !hasEnded(status);

/** Holds the stream while `end` ends it. */
async function ifUnowned(
  store: Store,
  stream: string,
  end: (writer: StreamWriter) => Promise<UnownedEnd>,
): Promise<UnownedEnd> {
  let writer: StreamWriter;
  try {
    writer = await store.acquire(stream);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'stream_owned') return 'owned';
    throw thrown;
  }
  try {
    return await end(writer);
  } finally {
    await writer.release();
  }
}

const write = (writer: StreamWriter, append: Omit<Append, 'status'>): Promise<void> =>
  new Promise((resolve, reject) =>
    writer.append({ ...append, status: 'cancelled' }, (error) =>
      error === undefined ? resolve() : reject(error),
    ),
  );

const withdrawn = (reviews: readonly string[], stream: string) =>
  reviews.length === 0 ? {} : { writes: reviews.flatMap((review) => closeRow(review, stream)) };
