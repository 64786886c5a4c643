import type { FreeSlot } from './slots.ts';

/**
 * Calls of this process that must not be made twice, each from before its start is on the log until its end is: who lets
 * go of a stream meanwhile leaves one in doubt. A key is what is let go of as a whole: the session at the top, or a run.
 */
export interface InFlightCalls {
  /** Undefined once it is shut: nothing of the kind begins here any more, and is left to whoever goes on. */
  enter(key: string): FreeSlot | undefined;
  /** Of those that are under way now. */
  keys(): ReadonlySet<string>;
  size(): number;
  shut(): void;
  /**
   * Calls back when some have left, once whoever left has had the time to write its end down. The returned function ends
   * it.
   */
  onLeft(then: () => void): () => void;
}

/** `enter` for one key. */
export type NonIdempotentGuard = () => FreeSlot | undefined;

/** Waits where nothing begins any more, until the signal is aborted. */
export const enterGuard = (enter: NonIdempotentGuard, signal: AbortSignal): FreeSlot | Promise<FreeSlot> =>
  enter() ?? never(signal);

/** One that is under way. A chain of them: a Map in which each call comes and goes gets a new table every hundred calls. */
interface InFlightEntry {
  readonly key: string;
  before: InFlightEntry | undefined;
  after: InFlightEntry | undefined;
  isIn: boolean;
}

export function createInFlightCalls(): InFlightCalls {
  const listeners = new Set<() => void>();
  let first: InFlightEntry | undefined;
  let size = 0;
  let isShut = false;
  const leave = (entry: InFlightEntry) => {
    if (!entry.isIn) return;
    entry.isIn = false;
    const { before, after } = entry;
    if (before === undefined) first = after;
    else before.after = after;
    if (after !== undefined) after.before = before;
    entry.before = undefined;
    entry.after = undefined;
    size--;
    for (const then of listeners) setImmediate(() => listeners.has(then) && then());
  };
  return {
    enter(key) {
      if (isShut) return undefined;
      const entry: InFlightEntry = { key, before: undefined, after: first, isIn: true };
      if (first !== undefined) first.before = entry;
      first = entry;
      size++;
      return () => leave(entry);
    },
    keys() {
      const keys = new Set<string>();
      for (let entry = first; entry !== undefined; entry = entry.after) keys.add(entry.key);
      return keys;
    },
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
