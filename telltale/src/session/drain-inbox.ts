import type { InboxMessage, StreamWriter } from '../store/store.ts';

/** Reads a stream's inbox, in order, each message once: when it is asked to, and whenever one may have come. */
export interface Drain {
  readonly writer: Pick<StreamWriter, 'inbox' | 'onWake'>;
  readonly receiver: InboxReceiver;
  handled: number;
  draining: Promise<void> | undefined;
  again: boolean;
  closed: boolean;
  forget: () => void;
}

export interface InboxReceiver {
  receive(message: InboxMessage): void;
  /** It could not be read when a message may have come. */
  onError(error: unknown): void;
}

export function drainInbox(writer: Drain['writer'], receiver: InboxReceiver): Drain {
  const drain: Drain = {
    writer,
    receiver,
    handled: 0,
    draining: undefined,
    again: false,
    closed: false,
    forget: () => undefined,
  };
  drain.forget = writer.onWake(() => {
    drainNow(drain).catch((error: unknown) => receiver.onError(error));
  });
  return drain;
}

/** Resolves when all that waits has been received. */
export function drainNow(drain: Drain): Promise<void> {
  if (drain.draining !== undefined) {
    drain.again = true;
    return drain.draining;
  }
  drain.draining = drainOnce(drain).finally(() => {
    drain.draining = undefined;
  });
  return drain.draining;
}

async function drainOnce(drain: Drain): Promise<void> {
  const { writer, receiver } = drain;
  do {
    drain.again = false;
    for (const message of await writer.inbox()) {
      if (drain.closed || message.id <= drain.handled) continue;
      drain.handled = message.id;
      receiver.receive(message);
    }
  } while (drain.again && !drain.closed);
}

export function closeDrain(drain: Drain): void {
  drain.closed = true;
  drain.forget();
}
