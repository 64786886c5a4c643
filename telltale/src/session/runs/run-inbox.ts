import type { RunJournal } from '../../engine/run-journal.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { InboxMessage, StreamWriter } from '../../store/store.ts';
import { takeRunAnswer } from './answer-run.ts';
import { RUN_CANCEL, RUN_CHILD, RUN_REVIEW, RUN_SIGNAL } from './run-messages.ts';

export interface RunInboxEdges {
  readonly writer: StreamWriter;
  readonly journal: RunJournal;
  /** Somebody wants it ended. */
  readonly cancel: (reason: string, by: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Moves what others put into a run's inbox onto its log, in order, each once. */
export interface RunInbox {
  drain(): Promise<void>;
  /** The last event that a step may wait for. */
  lastNews(): number;
  close(): void;
}

export function createRunInbox({ writer, journal, cancel, onError }: RunInboxEdges): RunInbox {
  let handled = 0;
  let closed = false;
  let again = false;
  let draining: Promise<void> | undefined;
  let news = 0;
  const outside = { stream: writer.stream, seq: 0, depth: 0 };

  const receive = ({ id, kind, from, body }: InboxMessage) => {
    const consumed = [id];
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
      case RUN_CHILD:
        note('a run that it called goes on');
        return;
    }
    note(`${kind}: ${JSON.stringify(body)}`);
  };

  const drainOnce = async () => {
    do {
      again = false;
      for (const message of await writer.inbox()) {
        if (closed || message.id <= handled) continue;
        handled = message.id;
        receive(message);
        if (message.kind !== RUN_CHILD) news = journal.state.seq;
      }
    } while (again && !closed);
  };
  const drain = (): Promise<void> => {
    if (draining !== undefined) {
      again = true;
      return draining;
    }
    draining = drainOnce().finally(() => {
      draining = undefined;
    });
    return draining;
  };
  const forget = writer.onWake(() => {
    drain().catch(onError);
  });
  return {
    drain,
    lastNews: () => news,
    close() {
      closed = true;
      forget();
    },
  };
}
