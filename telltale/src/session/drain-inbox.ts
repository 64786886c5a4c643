import type { InboxMessage, StreamWriter } from '../store/store.ts';

/** Whose inbox is read, in order, each message once: when that is asked for, and whenever one may have come. */
export interface Drain {
  readonly writer: Pick<StreamWriter, 'inbox' | 'onWake'>;
  receive(message: InboxMessage): void;
  /** It could not be read when a message may have come. */
  onError(error: unknown): void;
  handled: number;
  draining: Promise<void> | undefined;
  again: boolean;
  /** Whether nothing is received any more. */
  closed: boolean;
}

/** From here on until the writer is let go of, or the returned function is called. */
export const drainWhenWoken = (drain: Drain): (() => void) => drain.writer.onWake(woken.bind(drain)); // half the size of a closure, and each session has one

function woken(this: Drain): void {
  if (!this.closed) drainNow(this).catch((error: unknown) => this.onError(error));
}

/** Resolves when all that waits has been received. */
export function drainNow(drain: Drain): Promise<void> {
  if (drain.draining !== undefined) {
    drain.again = true;
    return drain.draining;
  }
  drain.draining = drainOnce(drain);
  return drain.draining;
}

async function drainOnce(drain: Drain): Promise<void> {
  const { writer } = drain;
  try {
    do {
      drain.again = false;
      for (const message of await writer.inbox()) {
        if (drain.closed || message.id <= drain.handled) continue;
        drain.handled = message.id;
        drain.receive(message);
      }
    } while (drain.again && !drain.closed);
  } finally {
    drain.draining = undefined; // in the same step: whoever asks now is not told that it is being read
  }
}
