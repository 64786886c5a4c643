import type { Engine } from '../../engine/engine.ts';
import { readRun } from '../../engine/read-run.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { encodeEvent } from '../../log/codec.ts';
import type { ChildEventBody, EventBody, SessionEvent } from '../../log/event.ts';
import { openReviews } from '../../log/reviews.ts';
import { encodeRunEvent } from '../../log/run-codec.ts';
import type { RunEventBody } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Usage } from '../../log/session-events.ts';
import type { SessionState } from '../../log/state.ts';
import { costOf, modelFacts } from '../../models/prices.ts';
import type { Append, Store, StreamInfo, StreamWriter } from '../../store/store.ts';
import { childId, openChildren } from '../children/child-id.ts';
import { BY_PARENT } from '../children/child-session.ts';
import { copyOf } from '../children/copy-event.ts';
import { countUsage } from '../cost.ts';
import { leadRun } from '../guided/guidance.ts';
import { readEventPage, readEvents, readSession } from '../read-session.ts';
import { closeRow } from '../reviews/review-table.ts';
import { RUN_CANCEL, reportRunEnd } from '../runs/run-messages.ts';
import type { Runtime } from '../runtime-types.ts';
import { leaveRunQueues } from '../triggers/run-queue.ts';
import { hasEnded } from './has-ended.ts';

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
    await reportRunEnd({ store, engine: { signal } }, await readRun(store, run));
    await leaveRunQueues(store, clock, run);
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

/** The questions of a run that nobody has answered. */
const openRunReviews = ({ reviews }: RunState): readonly string[] =>
  reviews.flatMap(({ review, choice }) => (choice === undefined ? [review] : []));

/** What closes all that is open in a run, and then the run itself: it is cancelled. */
const runEndEvents = (state: RunState, reason: string, by: string): readonly RunEventBody[] => [
  ...openRunReviews(state).map(
    (review): RunEventBody => ({
      type: 'review.resolved',
      review,
      answer: 'withdrawn',
      choice: 'withdrawn',
      by,
      note: `The run was cancelled: ${reason}`,
    }),
  ),
  ...openSteps(state).map(
    (step): RunEventBody => ({ type: 'step.cancelled', step, reason: `The run was cancelled: ${reason}` }),
  ),
  { type: 'workflow.cancelled', reason, by },
];

const openSteps = ({ steps }: RunState): readonly string[] =>
  [...steps.values()].flatMap(({ step, status }) =>
    status === 'running' || status === 'retrying' ? [step] : [],
  );

/** What closes all that is open in a session, and then the session itself: it is cancelled. */
function sessionEndEvents(
  state: SessionState,
  reason: string,
  by: string,
  used: UsedInHand | undefined,
): readonly EventBody[] {
  const withdrawn = openReviews(state).map(
    ({ review }): EventBody => ({
      type: 'review.resolved',
      review,
      answer: 'withdrawn',
      by,
      note: `The session was cancelled: ${reason}`,
    }),
  );
  const ended = [...state.open].map(
    (id): EventBody => ({
      type: 'action.cancelled',
      id,
      reason: `The session was cancelled: ${reason}`,
    }),
  );
  const cut = { code: 'cancelled', message: 'The session was cancelled.', retryable: false };
  return [
    ...withdrawn,
    ...ended,
    ...(state.turnOpen ? [{ type: 'turn.failed', error: cut, ...used } as const] : []),
    { type: 'session.cancelled', reason, by },
  ];
}

/** What the turn that is open has used, for its `turn.failed`. */
export interface UsedInHand {
  readonly usage: Usage;
  readonly cost_usd: number;
}

/** Events that are read at a time, from the log's end: a turn has rarely more. */
const PAGE = 500;

/**
 * What the turn in hand has used as far as the log knows: what it was asked with, and what was heard of it. The price is
 * the model's by its name, since nobody who works on the session is there to ask. Undefined where no turn is open.
 */
async function usedInHand(store: Store, state: SessionState): Promise<UsedInHand | undefined> {
  if (!state.turnOpen) return undefined;
  const usage = countUsage(state, await promptTokens(store, state));
  const price = modelFacts(state.model)?.price;
  return { usage, cost_usd: price === undefined ? 0 : costOf(price, usage) };
}

async function promptTokens(store: Store, { id, seq }: SessionState): Promise<number> {
  for (let behind = seq + 1; behind > 1; ) {
    const from = Math.max(1, behind - PAGE);
    const page = await readEventPage(store, id, from, behind - from);
    const begun = page.findLast((event) => event.type === 'turn.started');
    if (begun?.type === 'turn.started') return begun.prompt.tokens;
    behind = from;
  }
  return 0;
}

/** What sub-agents that a session waited for have used and its log does not have yet, with the events that say so. */
async function usedBelow(
  store: Store,
  state: SessionState,
): Promise<readonly { readonly body: ChildEventBody; readonly of: SessionEvent }[]> {
  const used: { body: ChildEventBody; of: SessionEvent }[] = [];
  for (const action of state.open) {
    if (state.actions.get(action)?.action.kind !== 'agent') continue;
    const child = childId(state, action);
    if ((await store.info(child)) === undefined) continue;
    const cursor = state.children.find((each) => each.action === action);
    const seen = cursor?.session === child ? cursor.seq : 0;
    for (const event of await readEvents(store, child, seen + 1)) {
      const body = copyOf(event, action);
      if (body !== undefined && USES.has(body.type)) used.push({ body, of: event });
    }
  }
  return used;
}

const USES: ReadonlySet<string> = new Set<ChildEventBody['type']>([
  'child.turn.completed',
  'child.turn.failed',
  'child.usage',
]);

/** The runs that a session or a run has set off or called, oldest first. */
export const runsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'run');

/** The sessions of the agents that a run has work for it, oldest first. */
const sessionsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'session');

const streamsOf = async (store: Store, parent: string, kind: StreamInfo['kind']) =>
  (await store.list({ kind, parent })).toReversed();

/**
 * How a run ends that nobody works on. What has completed may have to be undone, which takes the run's agent; one that
 * was called is its caller's to end.
 */
export async function wayToEnd(
  store: Store,
  { stream, parent }: Pick<StreamInfo, 'stream' | 'parent'>,
): Promise<'at once' | 'by working on it' | 'by its caller'> {
  const { steps } = await readRun(store, stream);
  if (![...steps.values()].some(({ status }) => status === 'completed')) return 'at once';
  const caller = parent === undefined ? undefined : await store.info(parent);
  // Its session has ended without it, and nobody else can work on it.
  if (caller !== undefined && stream === leadRun(caller.stream) && hasEnded(caller.status)) return 'at once';
  return caller?.kind === 'run' ? 'by its caller' : 'by working on it';
}
