import type { ObservedEvent } from '../../log/event.ts';
import type { Io } from '../io.ts';
import type { RunMode } from './run-mode.ts';

/** A stop that is over by then needs no words. */
const PATIENCE_MS = 500;

/** On a terminal, where there is room for a line. */
export const STOPPING = 'stopping; press Ctrl-C again to stop at once';
/** In a chat, which stays. */
export const BREAKING_OFF = 'stopping the turn; press Ctrl-C again to leave';

/** Whether the turn that was broken off is over with this. */
export const isOverWith = ({ type }: ObservedEvent): boolean =>
  type === 'session.waiting' || type === 'turn.started';

/**
 * Says on stderr that a stop is under way, where it takes its time: a tool that runs has seconds to end. The live view and
 * the line of progress on a terminal say so themselves; with --events and --json stderr stays empty. The returned
 * function ends it.
 */
export function tellSlowStop({ stdout, stderr, signal, clock }: Io, mode: RunMode): () => void {
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
