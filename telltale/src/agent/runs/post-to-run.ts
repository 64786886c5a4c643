import { readRun } from '../../engine/read-run.ts';
import { createRunLog } from '../../engine/run-log.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { InboxMessage, Store, StreamWriter } from '../../store/store.ts';
import { takeMessage } from './run-inbox.ts';
import { logOfNobody } from './run-questions.ts';

/** What became of a message. */
export type Posted = 'delivered' | 'kept';

/**
 * Gives a run a message. Where a process works on it, it goes into the inbox and that one is woken (`delivered`). Else it
 * goes onto the log at once (`kept`): a process that waits for the run sees the log move, and goes on with it.
 */
export async function postToRun(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  run: string,
  message: Omit<InboxMessage, 'id' | 'at'>,
): Promise<Posted> {
  const writer = await takeUnowned(store, run);
  if (writer === undefined) {
    await store.send(run, message);
    return 'delivered';
  }
  try {
    const state = await readRun(store, run);
    const journal = createRunLog({ ...(await logOfNobody(store, writer)), state, clock, onLost }); // flushed() says so
    takeMessage(message, journal, () => undefined);
    await journal.flushed();
    return 'kept';
  } finally {
    await writer.release();
  }
}

const onLost = (): void => undefined;

/** Undefined where somebody works on it. */
export async function takeUnowned(store: Store, stream: string): Promise<StreamWriter | undefined> {
  try {
    return await store.acquire(stream);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'stream_owned') return undefined;
    throw thrown;
  }
}
