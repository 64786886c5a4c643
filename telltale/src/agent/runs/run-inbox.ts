import { readRun } from '../../engine/read-run.ts';
import { createRunLog, type RunJournal } from '../../engine/run-log.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { openQuestions } from '../../log/reduce-run.ts';
import type { InboxMessage, Store, StreamWriter } from '../../store/store.ts';
import { type Drain, drainNow, drainWhenWoken } from '../inbox.ts';
import type { ClaimMessage } from './client-worker.ts';
import { RUN_CANCEL, RUN_CHILD, RUN_CLAIM, RUN_REVIEW, RUN_SIGNAL, RUN_TURN } from './run-messages.ts';
import { receiveRunAnswer, unownedLogOptions } from './run-questions.ts';

export interface RunInboxDeps {
  readonly writer: StreamWriter;
  readonly journal: RunJournal;
  /** Cancels the run. */
  readonly cancel: (reason: string, by: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Moves messages from a run's inbox to its log, in order, each once. */
export interface RunInbox {
  /** Resolves when all waiting messages have been received. */
  now(): Promise<void>;
  close(): void;
  /** The last event that a step may be waiting for. */
  lastDelivered(): number;
  /** Receives a message of this process directly, without the inbox. */
  take(message: Omit<InboxMessage, 'id' | 'at'>): void;
}

export function createRunInbox({ writer, journal, cancel, onError }: RunInboxDeps): RunInbox {
  let news = 0;
  const receive = (message: Parameters<typeof receiveMessage>[0]) => {
    receiveMessage(message, journal, cancel);
    if (message.kind !== RUN_CHILD) news = journal.state.seq;
  };
  const drain: Drain = {
    writer,
    receive,
    onError,
    handled: 0,
    draining: undefined,
    again: false,
    closed: false,
  };
  const forget = drainWhenWoken(drain);
  return {
    now: () => drainNow(drain),
    close() {
      drain.closed = true;
      forget();
    },
    lastDelivered: () => news,
    take: receive,
  };
}

/** Writes a message to the run's log. */
function receiveMessage(
  { id, kind, from, body }: Omit<InboxMessage, 'id' | 'at'> & { readonly id?: number },
  journal: RunJournal,
  cancel: RunInboxDeps['cancel'],
): void {
  const consumed = id === undefined ? [] : [id];
  // A message comes from outside the log: it is a beginning of its own.
  const outside = { stream: journal.state.id, seq: 0, depth: 0 };
  const note = (what: string) => journal.append({ type: 'audit', who: from, what }, outside, { consumed });
  switch (kind) {
    case RUN_CANCEL: {
      const reason = typeof body === 'string' ? body : 'asked to';
      journal.append({ type: 'workflow.cancelling', reason, by: from }, outside, { consumed });
      cancel(reason, from);
      return;
    }
    case RUN_SIGNAL: {
      const { event, data } = (body ?? {}) as { readonly event?: Json; readonly data?: JsonObject };
      if (typeof event !== 'string') break;
      journal.append({ type: 'signal.received', event, data: data ?? {}, from }, outside, { consumed });
      return;
    }
    case RUN_REVIEW:
      if (!receiveRunAnswer(journal, from, body, consumed)) break;
      return;
    case RUN_CLAIM:
      // Two claims may have been sent at once. The first counts, and the sender of the other can see that on
      // the log.
      if (!receiveClaim(journal, from, body, consumed)) note('a claim that nobody waits for');
      return;
    case RUN_CHILD:
      note('a run that it called goes on');
      return;
    case RUN_TURN:
      note('its turn has come');
      return;
  }
  note(`${kind}: ${JSON.stringify(body)}`);
}

/**
 * Writes a client's claim to the run's log. Returns false if the body is not a claim, or no task waits for
 * it.
 */
function receiveClaim(journal: RunJournal, by: string, body: Json, consumed: readonly number[]): boolean {
  const claim = readClaim(body);
  if (claim === undefined) return false;
  const { step, attempt, nth } = claim;
  const isOpen = openQuestions(journal.state).some(
    (task) => task.step === step && task.attempt === attempt && task.nth === nth,
  );
  if (!isOpen) return false;
  // A message comes from outside the log: it is a beginning of its own.
  const outside = { stream: journal.state.id, seq: 0, depth: 0 };
  journal.append({ type: 'client.claimed', ...claim, by }, outside, { consumed });
  return true;
}

function readClaim(body: Json): ClaimMessage | undefined {
  const { step, attempt, nth, notes, context_updates, artifacts } = (body ?? {}) as JsonObject;
  if (typeof step !== 'string' || typeof attempt !== 'number' || typeof nth !== 'number') return undefined;
  if (typeof notes !== 'string' || !Array.isArray(artifacts)) return undefined;
  return { step, attempt, nth, notes, artifacts, context_updates: (context_updates ?? {}) as JsonObject };
}

/** How a message was delivered. */
export type PostResult = 'delivered' | 'kept';

/**
 * Sends a message to a run. If a process works on the run, the message goes into its inbox and the process is
 * woken (`delivered`). Otherwise it is written to the log at once (`kept`), and a process that watches the
 * run resumes it.
 */
export async function postToRun(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  run: string,
  message: Omit<InboxMessage, 'id' | 'at'>,
): Promise<PostResult> {
  const writer = await acquireUnowned(store, run);
  if (writer === undefined) {
    await store.send(run, message);
    return 'delivered';
  }
  try {
    const state = await readRun(store, run);
    const journal = createRunLog({ ...(await unownedLogOptions(store, writer)), state, clock, onLost }); // flushed() rejects
    receiveMessage(message, journal, () => undefined);
    await journal.flushed();
    return 'kept';
  } finally {
    await writer.release();
  }
}

const onLost = (): void => undefined;

/** Undefined if another process owns the stream. */
export async function acquireUnowned(store: Store, stream: string): Promise<StreamWriter | undefined> {
  try {
    return await store.acquire(stream);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'stream_owned') return undefined;
    throw thrown;
  }
}
