import type { Clock } from '../../kernel/clock.ts';
import type { SharedStore } from '../../store/shared-store.ts';
import type { WorkQueue } from './work-queue.ts';

export interface AdmissionEdges {
  readonly shared: Pick<SharedStore, 'workers'>;
  readonly queue: Pick<WorkQueue, 'depth'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Streams that may wait for each place of the workers that are alive. */
const WAITING_A_PLACE = 10;
/** So many may wait while workers restart. */
const LEAST_WAITING = 100;
/** For how long one look answers all who ask. */
const LOOK_MS = 500;

/** Whether the fleet's queue has room for one more. Those that were let in since the last look count as waiting. */
export function createAdmission({ shared, queue, clock }: AdmissionEdges): () => Promise<boolean> {
  let look: { readonly at: number; readonly room: Promise<number> } | undefined;
  let admitted = 0;

  const roomNow = async () => {
    const [{ waiting }, workers] = await Promise.all([queue.depth(), shared.workers()]);
    const places = workers
      .filter(({ alive, draining }) => alive && draining !== true)
      .reduce((sum, { capacity }) => sum + capacity, 0);
    return Math.max(LEAST_WAITING, places * WAITING_A_PLACE) - waiting;
  };

  return async () => {
    const now = clock.monotonic();
    if (look === undefined || now - look.at >= LOOK_MS) {
      const fresh = { at: now, room: roomNow() };
      look = fresh;
      admitted = 0;
      fresh.room.catch(() => {
        if (look === fresh) look = undefined;
      });
    }
    if (admitted >= (await look.room)) return false;
    admitted++;
    return true;
  };
}
