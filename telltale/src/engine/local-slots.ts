import { RuntimeError } from '../kernel/runtime-error.ts';
import { createFairQueue, type FairQueue } from './fair-queue.ts';
import type { FreeSlot, SlotAsk, Slots } from './slots.ts';

/** Who wait for slots of one key. */
const MAX_WAITING = 100_000;

interface Waiter {
  /** What it is content with: two that ask for one key may have different manifests. */
  readonly max: number;
  readonly go: () => void;
}

interface Key {
  held: number;
  readonly waiting: FairQueue<Waiter>;
}

export interface LocalSlots extends Slots {
  /** Whether anybody waits for a slot of a key. */
  hasWaiting(key: string): boolean;
}

/** Slots of this process. A key that nobody holds or waits for is forgotten. */
export function createLocalSlots(): LocalSlots {
  const keys = new Map<string, Key>();

  const open = (key: string): Key => {
    const known = keys.get(key);
    if (known !== undefined) return known;
    const made: Key = { held: 0, waiting: createFairQueue() };
    keys.set(key, made);
    return made;
  };
  /** Whoever has the turn goes first, also where another with a greater `max` could go now: else it might never. */
  const passOn = (key: string, of: Key) => {
    for (let next = of.waiting.peek(); next !== undefined && of.held < next.max; next = of.waiting.peek()) {
      of.waiting.shift();
      of.held++;
      next.go();
    }
    if (of.held === 0 && of.waiting.size === 0) keys.delete(key);
  };
  const freeOf = (key: string, of: Key): FreeSlot => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      of.held--;
      passOn(key, of);
    };
  };
  const wait = (key: string, of: Key, max: number, { group, signal }: SlotAsk): Promise<FreeSlot> =>
    new Promise((resolve, reject) => {
      const withdraw = () => {
        of.waiting.delete(waiter);
        reject(signal.reason);
        passOn(key, of); // those behind it may be content with more
      };
      const waiter: Waiter = {
        max,
        go() {
          signal.removeEventListener('abort', withdraw);
          resolve(freeOf(key, of));
        },
      };
      of.waiting.push(waiter, group);
      signal.addEventListener('abort', withdraw, { once: true });
    });

  return {
    take(key, max, ask) {
      if (ask.signal.aborted) return Promise.reject(ask.signal.reason);
      const of = open(key);
      if (of.waiting.size >= MAX_WAITING) return Promise.reject(slotsFull(key));
      if (of.held >= max || of.waiting.size > 0) return wait(key, of, max, ask);
      of.held++;
      return freeOf(key, of);
    },
    hasWaiting: (key) => (keys.get(key)?.waiting.size ?? 0) > 0,
  };
}

const slotsFull = (key: string) =>
  new RuntimeError('slots_full', `${MAX_WAITING} calls wait for a slot of ${key} already.`, {
    hint: 'Raise the "max_parallel" of what they call, add workers, or set off less at once.',
    retryable: true,
  });
