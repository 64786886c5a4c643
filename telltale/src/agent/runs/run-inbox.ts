import type { RunJournal } from '../../engine/run-log.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { openQuestions } from '../../log/reduce-run.ts';
import type { InboxMessage, StreamWriter } from '../../store/store.ts';
import { type Drain, drainNow, drainWhenWoken } from '../inbox.ts';
import type { ClaimMessage } from './client-worker.ts';
import { RUN_CANCEL, RUN_CHILD, RUN_CLAIM, RUN_REVIEW, RUN_SIGNAL, RUN_TURN } from './run-messages.ts';
import { takeRunAnswer } from './run-questions.ts';

export interface RunInboxDeps {
  readonly writer: StreamWriter;
  readonly journal: RunJournal;
  /** Somebody wants it ended. */
  readonly cancel: (reason: string, by: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Moves what others put into a run's inbox onto its log, in order, each once. */
export interface RunInbox {
  /** Resolves when all that waits has been received. */
  now(): Promise<void>;
  close(): void;
  /** The last event that a step may wait for. */
  lastNews(): number;
  /** Takes a message of this process, past the inbox. */
  take(message: Omit<InboxMessage, 'id' | 'at'>): void;
}

export function createRunInbox({ writer, journal, cancel, onError }: RunInboxDeps): RunInbox {
  let news = 0;
  const receive = (message: Parameters<typeof takeMessage>[0]) => {
    takeMessage(message, journal, cancel);
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
    lastNews: () => news,
    take: receive,
  };
}

/** Puts a message on the run's log. */
export function takeMessage(
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
      if (!takeRunAnswer(journal, from, body, consumed)) break;
      return;
    case RUN_CLAIM:
      // Two may have been sent at once: the first counts, and who sent the other sees that it is on the log.
      if (!takeClaim(journal, from, body, consumed)) note('a claim that nobody waits for');
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

/** Puts what a client sent onto the run's log. False where it is no claim, or one that nobody waits for. */
function takeClaim(journal: RunJournal, by: string, body: Json, consumed: readonly number[]): boolean {
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
