import type { FreeSlot } from './slots.ts';

/**
 * Tracks calls of this process that must not be repeated, each from before its start is on the log until its
 * end is. Releasing a stream meanwhile would leave its outcome unknown. A key is what is released as a whole:
 * the root session, or a run.
 */
export interface InFlightCalls {
  /** Registers a call. Undefined after `shut`, because this process must not start such calls any more. */
  enter(key: string): FreeSlot | undefined;
  /** The keys of the calls that are running. */
  keys(): ReadonlySet<string>;
  size(): number;
  shut(): void;
  /**
   * Calls back when calls have ended, after there was time to record their ends. The returned function
   * unsubscribes.
   */
  onLeft(then: () => void): () => void;
}

/** `enter` for one key. */
export type NonIdempotentGuard = () => FreeSlot | undefined;

/** Registers the call. If that is no longer possible, waits until the signal is aborted. */
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
