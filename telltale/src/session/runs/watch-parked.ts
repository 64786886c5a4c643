import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';

/** Runs that are watched; the longest parked goes, and is taken up at its time or when it is resumed. */
const MAX_WATCHED = 256;

/** Sees to it that runs which this process has let go of go on here when another one writes to their logs. */
export interface ParkedRuns {
  /** `head`: the last event on its log that this process knows of. */
  watch(run: string, head: number): void;
  forget(run: string): void;
  close(): void;
}

export function createParkedRuns(
  store: Pick<Store, 'watch' | 'info'>,
  { place }: Pick<Engine, 'place'>,
  onError: (error: unknown) => void,
): ParkedRuns {
  const watched = new Map<string, () => void>();
  const forget = (run: string) => {
    watched.get(run)?.();
    watched.delete(run);
  };
  return {
    forget,
    watch(run, head) {
      forget(run);
      const [oldest] = watched.keys();
      if (watched.size >= MAX_WATCHED && oldest !== undefined) forget(oldest);
      // A watcher is called once too often rather than once too seldom.
      const look = async () => {
        const info = await store.info(run);
        if (info !== undefined && info.head > head && watched.has(run)) place('run', run);
      };
      watched.set(
        run,
        store.watch(run, () => {
          look().catch(onError);
        }),
      );
    },
    close() {
      for (const run of [...watched.keys()]) forget(run);
    },
  };
}
