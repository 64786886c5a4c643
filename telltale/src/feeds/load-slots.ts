/** Lets so many work at a time; the others wait, in order: never more than there are feeds, each of which loads once. */
export interface LoadSlots {
  /** Resolves with what gives the place back. A wait that is aborted rejects and takes no place. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createLoadSlots(count: number): LoadSlots {
  let free = count;
  const queue = new Set<() => void>();

  const giveBack = () => {
    const [next] = queue;
    if (next === undefined) free++;
    else {
      queue.delete(next);
      next();
    }
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free--;
        return giveBack;
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          queue.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        queue.add(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
      return giveBack;
    },
  };
}

/** As `promise`, but rejects with the signal's reason as soon as it is aborted, whatever becomes of `promise` then. */
export function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const end = (settle: () => void) => {
      signal.removeEventListener('abort', leave);
      settle();
    };
    promise.then(
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
    );
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
