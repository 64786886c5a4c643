import type { Clock } from '../../kernel/clock.ts';
import type { Store } from '../../store/store.ts';
import type { StreamKind } from '../engine.ts';
import { MAX_OFFERS, offerKey, type WorkOffer, type WorkQueue } from './work-queue.ts';

export interface OfferingDeps {
  readonly store: Pick<Store, 'info'>;
  readonly queue: Pick<WorkQueue, 'offer'>;
  readonly clock: Clock;
  readonly onError: (thrown: unknown) => void;
}

/** Offers streams that were placed where there was no room, several at a time. */
export interface Offering {
  add(kind: StreamKind, stream: string, group?: string): void;
  /** Resolves once what was added has been offered. */
  close(): Promise<void>;
}

interface Gathered {
  readonly kind: StreamKind;
  readonly stream: string;
  readonly group: string | undefined;
}

const GATHER_MS = 10;
/** Streams that wait to be offered; what comes on top is found by a sweep. */
const MOST_GATHERED = 10_000;
/** Heads that are looked at side by side. */
const LOOKS = 16;

export function createOffering({ store, queue, clock, onError }: OfferingDeps): Offering {
  let gathered = new Map<string, Gathered>();
  let cancel: (() => void) | undefined;
  let offered: Promise<void> = Promise.resolve();

  /** Streams that one other called share its turn. */
  const groupOf = async ({ stream, group }: Gathered) =>
    group ?? (await store.info(stream))?.parent ?? stream;

  const offerAll = async (all: readonly Gathered[]) => {
    const offers: WorkOffer[] = [];
    for (let at = 0; at < all.length; at += LOOKS)
      offers.push(
        ...(await Promise.all(
          all.slice(at, at + LOOKS).map(async (each) => ({ ...each, group: await groupOf(each) })),
        )),
      );
    for (let at = 0; at < offers.length; at += MAX_OFFERS)
      await queue.offer(offers.slice(at, at + MAX_OFFERS), 'again');
  };
  const flush = () => {
    cancel?.();
    cancel = undefined;
    const all = [...gathered.values()];
    gathered = new Map();
    // What could not be offered is on the log, and nobody owns it: a sweep finds it.
    offered = offered.then(() => offerAll(all)).catch(onError);
    return offered;
  };

  return {
    add(kind, stream, group) {
      if (gathered.size >= MOST_GATHERED) return;
      gathered.set(offerKey({ kind, stream }), { kind, stream, group });
      cancel ??= clock.after(GATHER_MS, () => void flush());
    },
    close: () => flush(),
  };
}
