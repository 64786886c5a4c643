import type { ObservedEvent } from '../../log/event.ts';
import type { Io } from '../io.ts';
import type { RunMode } from './run-mode.ts';

/** A stop that takes less time needs no message. */
const PATIENCE_MS = 500;

/** Shown on a terminal. */
export const STOPPING = 'stopping; press Ctrl-C again to stop at once';
/** Shown in a chat, which continues. */
export const STOPPING_TURN = 'stopping the turn; press Ctrl-C again to leave';

/** Whether this event ends the interrupted turn. */
export const endsInterruptedTurn = ({ type }: ObservedEvent): boolean =>
  type === 'session.waiting' || type === 'turn.started';

/**
 * Says on stderr that a stop is taking a while: a running tool has seconds to end. The live view and the progress line
 * on a terminal say so themselves, and with --events and --json stderr stays empty. Call the returned function when the
 * stop is over.
 */
export function reportSlowStop({ stdout, stderr, signal, clock }: Io, mode: RunMode): () => void {
  if (mode !== 'plain' && (mode !== 'quiet' || stderr.isTerminal)) return () => {};
  let cancel = () => {};
  const wait = () => {
    cancel = clock.after(PATIENCE_MS, () => {
      if (!stdout.closed)
        void stderr.write(
          'Stopping. Running actions have a moment to end. Press Ctrl-C again to stop at once.\n',
        );
    });
  };
  signal.addEventListener('abort', wait, { once: true });
  if (signal.aborted) wait();
  return () => {
    signal.removeEventListener('abort', wait);
    cancel();
  };
}
