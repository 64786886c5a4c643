import type { InboxMessage, StreamWriter } from '../store/store.ts';

/** Reads a stream's inbox, in order, each message once: when it is asked to, and whenever one may have come. */
export interface Drain {
  /** Resolves when all that waits has been received. */
  now(): Promise<void>;
  close(): void;
}

export function drainInbox(
  writer: Pick<StreamWriter, 'inbox' | 'onWake'>,
  receive: (message: InboxMessage) => void,
  onError: (error: unknown) => void,
): Drain {
  let handled = 0;
  let draining: Promise<void> | undefined;
  let again = false;
  let closed = false;

  const drainOnce = async () => {
    do {
      again = false;
      for (const message of await writer.inbox()) {
        if (closed || message.id <= handled) continue;
        handled = message.id;
        receive(message);
      }
    } while (again && !closed);
  };
  const now = (): Promise<void> => {
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
    now().catch(onError);
  });
  return {
    now,
    close() {
      closed = true;
      forget();
    },
  };
}
