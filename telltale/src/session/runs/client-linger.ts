import type { RunJournal } from '../../engine/run-journal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Waits } from '../../workflows/machine/occupancy.ts';
import { WAITS_FOR_CLIENT } from './client-worker.ts';

/** How long a run stays in hand for the next thing that its client sends. */
const LINGER_MS = 60_000;

/** Holds a run of an MCP client for a while. */
export interface Linger {
  /** Whether it is held; then its log says that it waits, and `release` is called when nothing has come for a time. */
  hold(waits: Waits, release: () => void): boolean;
  /** The run has ended or is let go of. */
  end(): void;
}

/**
 * Taking a run up, reading its log and letting go of it again are commits of their own: while it lingers a claim costs
 * two commits, not five. Whatever another process sends reaches it all the same, and a process that is killed has
 * nothing that is not on the log.
 */
export function createLinger({
  journal,
  clock,
}: {
  readonly journal: RunJournal;
  readonly clock: Clock;
}): Linger {
  const { state } = journal;
  let disarm: () => void = () => undefined;
  return {
    hold(waits, release) {
      disarm();
      // What another run called parks with that one.
      if (state.origin.parent !== undefined || waits.for !== WAITS_FOR_CLIENT || waits.due !== undefined)
        return false;
      journal.append({ type: 'workflow.waiting', for: waits.for });
      const { seq } = state;
      disarm = clock.after(LINGER_MS, () => {
        if (state.seq === seq) release();
      });
      return true;
    },
    end: () => disarm(),
  };
}
