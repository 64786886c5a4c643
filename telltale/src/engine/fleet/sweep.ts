import type { SharedStore } from '../../store/shared-store.ts';
import {
  DEADLY,
  type LaidAside,
  MAX_OFFERS,
  MOST_DEATHS,
  type WorkOffer,
  type WorkQueue,
} from './work-queue.ts';

export interface SweepEdges {
  readonly shared: Pick<SharedStore, 'orphans' | 'isAlive'>;
  readonly queue: WorkQueue;
  readonly onLaidAside: (aside: LaidAside) => void;
}

/** All processes together look once in that time, whatever happens. */
const SWEEP_MS = 900;
/** And so often where one was told that there may be something to find. */
const POKED_MS = 100;
/** Streams that are looked at in one sweep. Those that wait longest come first, so the others are found later. */
const MOST_ORPHANS = 16_000;

/**
 * Offers what nobody works on: streams that were placed where there was no room, whose owner died or let go of them,
 * whose time has come, or that were sent a message.
 */
export function createSweep({ shared, queue, onLaidAside }: SweepEdges) {
  let limit = MAX_OFFERS;
  let wasRefused = false;

  /** Those that are offered or laid aside already are among them: where these fill a page, more is asked for. */
  const offerOrphans = async () => {
    for (;;) {
      const orphans = await shared.orphans(limit);
      const all = orphans.map(
        ({ kind, stream, root, deaths }): WorkOffer => ({
          ...{ kind, stream, group: root },
          ...(deaths === 0 ? {} : { deaths }),
        }),
      );
      const isDeadly = ({ deaths = 0 }: WorkOffer) => deaths >= MOST_DEATHS;
      for (const aside of await queue.layAside(all.filter(isDeadly), DEADLY)) onLaidAside(aside);
      const offers = all.filter((offer) => !isDeadly(offer));
      let added = 0;
      for (let at = 0; at < offers.length; at += MAX_OFFERS)
        added += await queue.offer(offers.slice(at, at + MAX_OFFERS));
      if (orphans.length < limit) limit = MAX_OFFERS;
      else if (added < MAX_OFFERS / 2 && limit < MOST_ORPHANS) {
        limit *= 2;
        continue;
      }
      return;
    }
  };

  return async (poked: boolean): Promise<'soon' | undefined> => {
    if (!shared.isAlive()) return undefined;
    if (!(await queue.turn(poked ? POKED_MS : SWEEP_MS))) {
      // Whoever swept may have looked just before this one was poked. If it is refused again, somebody looked after it.
      const isSecond = wasRefused;
      wasRefused = poked && !isSecond;
      return wasRefused ? 'soon' : undefined;
    }
    wasRefused = false;
    for (const aside of await queue.tend()) onLaidAside(aside);
    await offerOrphans();
    return undefined;
  };
}
