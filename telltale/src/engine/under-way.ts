import type { FreeSlot } from './slots.ts';

/**
 * Calls of this process that must not be made twice, each from before its start is on the log until its end is: who lets
 * go of a stream meanwhile leaves one in doubt. A key is what is let go of as a whole: the session at the top, or a run.
 */
export interface UnderWay {
  /** Undefined once it is shut: nothing of the kind begins here any more, and is left to whoever goes on. */
  enter(key: string): FreeSlot | undefined;
  has(key: string): boolean;
  size(): number;
  shut(): void;
  /**
   * Calls back when some have left, once whoever left has had the time to write its end down. The returned function ends
   * it.
   */
  onLeft(then: () => void): () => void;
}

/** `enter` for one key. */
export type EnterOnce = () => FreeSlot | undefined;

/** Waits where nothing begins any more, until the signal is aborted. */
export const enterOrWait = (enter: EnterOnce, signal: AbortSignal): FreeSlot | Promise<FreeSlot> =>
  enter() ?? never(signal);

export function createUnderWay(): UnderWay {
  const counts = new Map<string, number>();
  const listeners = new Set<() => void>();
  let size = 0;
  let isShut = false;
  const leave = (key: string) => {
    const left = (counts.get(key) ?? 1) - 1;
    if (left === 0) counts.delete(key);
    else counts.set(key, left);
    size--;
    for (const then of listeners) setImmediate(() => listeners.has(then) && then());
  };
  return {
    enter(key) {
      if (isShut) return undefined;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      size++;
      let isIn = true;
      return () => {
        if (isIn) leave(key);
        isIn = false;
      };
    },
    has: (key) => counts.has(key),
    size: () => size,
    shut() {
      isShut = true;
    },
    onLeft(then) {
      listeners.add(then);
      return () => listeners.delete(then);
    },
  };
}

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
