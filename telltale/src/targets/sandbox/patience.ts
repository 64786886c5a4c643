/** How long a caller is held in one turn of its event loop, by all scripts together. */
const MOST_MS = 3;
/** Scripts that are known to take longer; the one that was found out first goes. */
const MAX_SLOW = 256;

/** Says which scripts are waited for where the caller stands. */
export interface Patience {
  /** Milliseconds; 0 where it is not to be waited for. */
  forScript(source: string): number;
  /** What was waited. */
  spend(ms: number): void;
  /** What a script took in its thread that was not waited for to its end. */
  took(source: string, ms: number): void;
}

/**
 * However many scripts are run, and whatever they do, the event loop gets its turn after MOST_MS. A script that took
 * longer once is not waited for again, until it has been seen to be quick: a busy machine is no fault of its own.
 */
export function createPatience(): Patience {
  const slow = new Set<string>();
  let left = MOST_MS;
  let isSpending = false;
  const renew = () => {
    left = MOST_MS;
    isSpending = false;
  };
  return {
    forScript: (source) => (slow.size > 0 && slow.has(source) ? 0 : left),
    spend(ms) {
      left = Math.max(0, left - ms);
      if (isSpending) return;
      isSpending = true;
      setImmediate(renew).unref();
    },
    took(source, ms) {
      slow.delete(source);
      if (ms <= MOST_MS) return;
      const [first] = slow;
      if (slow.size >= MAX_SLOW && first !== undefined) slow.delete(first);
      slow.add(source);
    },
  };
}
