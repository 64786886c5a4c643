import type { Clock } from '../../kernel/clock.ts';
import type { SharedStore } from '../../store/shared-store.ts';
import type { WorkQueue } from './work-queue.ts';

export interface AdmissionDeps {
  readonly shared: Pick<SharedStore, 'workers'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The `key` of this process's own note, which says nothing about the room of others. */
  readonly own?: string | undefined;
}

/** Streams that may wait for each place of the workers that are alive. */
const WAITING_A_PLACE = 10;
/** So many may wait while workers restart. */
const LEAST_WAITING = 100;
/** For how long one look answers all who ask. */
const LOOK_MS = 500;

interface Room {
  /** How many more may wait. */
  readonly line: number;
  /** How many could begin at once in other processes. */
  readonly places: number;
}

/**
 * Whether the fleet's queue has room for one more; for one that is to begin `now`, whether a place is free for it
 * elsewhere. Those that were let in since the last look count as waiting.
 */
export function createAdmission({
  shared,
  queue,
  clock,
  own,
}: AdmissionDeps): (how?: 'now') => Promise<boolean> {
  let look: { readonly at: number; readonly room: Promise<Room> } | undefined;
  let admitted = 0;

  const roomNow = async (): Promise<Room> => {
    const [{ waiting }, workers] = await Promise.all([queue.depth(), shared.workers()]);
    const able = workers.filter(({ alive, draining }) => alive && draining !== true);
    const all = able.reduce((sum, { capacity }) => sum + capacity, 0);
    const free = able
      .filter(({ key }) => own === undefined || key !== own)
      .reduce((sum, { capacity, working }) => sum + Math.max(0, capacity - working), 0);
    return { line: Math.max(LEAST_WAITING, all * WAITING_A_PLACE) - waiting, places: free - waiting };
  };

  return async (how) => {
    const now = clock.monotonic();
    if (look === undefined || now - look.at >= LOOK_MS) {
      const fresh = { at: now, room: roomNow() };
      look = fresh;
      admitted = 0;
      fresh.room.catch(() => {
        if (look === fresh) look = undefined;
      });
    }
    const { line, places } = await look.room;
    if (admitted >= (how === 'now' ? Math.min(line, places) : line)) return false;
    admitted++;
    return true;
  };
}
