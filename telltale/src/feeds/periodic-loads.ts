import { intervalOf } from './back-off.ts';
import type { FeedDeps } from './feed-edges.ts';
import type { FeedEntry, Load } from './feed-entry.ts';

/**
 * When periodic feeds are loaded: every interval from the start of one load to that of the next, later where a load takes
 * longer or the source fails. While the session waits for somebody nothing is loaded and no timer runs.
 */
export interface PeriodicLoads {
  /** Loads it now, and again and again. */
  begin(entry: FeedEntry): void;
  /** Says that a load of it has ended, whoever began it: the next is one interval after its start. */
  settled(entry: FeedEntry, load: Load): void;
  end(entry: FeedEntry): void;
  /** The session goes on: what fell due while it waited is loaded now. */
  wake(): void;
}

type Deps = Pick<FeedDeps, 'clock' | 'state'> & { start(entry: FeedEntry): void };

export function createPeriodicLoads({ clock, state, start }: Deps): PeriodicLoads {
  const asleep = new Set<FeedEntry>();

  const begin = (entry: FeedEntry) => {
    disarm(entry);
    if (state.idle || state.status !== 'running') asleep.add(entry);
    else loadNow(entry);
  };

  /** One that is loading is loaded again an interval after that: see `settled`. */
  const loadNow = (entry: FeedEntry) => {
    if (entry.load === undefined) start(entry);
  };

  return {
    begin,
    settled(entry, load) {
      if (!entry.enabled) return;
      disarm(entry);
      asleep.delete(entry);
      const due = entry.row?.retryAt ?? load.startedAt + intervalOf(entry.feed);
      entry.disarm = clock.after(due - clock.monotonic(), () => begin(entry));
    },
    end(entry) {
      disarm(entry);
      asleep.delete(entry);
    },
    wake() {
      if (asleep.size === 0) return;
      const due = [...asleep];
      asleep.clear();
      for (const entry of due) loadNow(entry);
    },
  };
}

function disarm(entry: FeedEntry): void {
  entry.disarm?.();
  entry.disarm = undefined;
}
