/** What can be stopped together: the whole run, or what runs inside of one step. */
export interface Branch {
  /** Why it was stopped; undefined while it runs. */
  readonly stopped: string | undefined;
  /** When its time is up, or that of what is around it, whichever comes first. */
  readonly deadline: number | undefined;
  /** Stops it and what is inside, once; the first reason counts. */
  stop(reason: string): void;
  /** Calls back when it is stopped, at once where it was. The returned function ends it. */
  onStop(listener: (reason: string) => void): () => void;
  /** Lets go of the branch around it. */
  close(): void;
}

export function createBranch(around?: Branch, ownDeadline?: number): Branch {
  const listeners: ((reason: string) => void)[] = [];
  const outer = around?.deadline;
  const deadline =
    ownDeadline === undefined || (outer !== undefined && outer < ownDeadline) ? outer : ownDeadline;
  let stopped: string | undefined;
  const stop = (reason: string) => {
    if (stopped !== undefined) return;
    stopped = reason;
    for (const listener of listeners.splice(0)) listener(reason);
  };
  const branch: Branch = {
    get stopped() {
      return stopped;
    },
    deadline,
    stop,
    onStop(listener) {
      if (stopped !== undefined) {
        listener(stopped);
        return nothing;
      }
      listeners.push(listener);
      return () => {
        // Whoever came last mostly leaves first, and seldom are there many.
        const place = listeners.lastIndexOf(listener);
        if (place !== -1) listeners.splice(place, 1);
      };
    },
    close: around === undefined ? nothing : around.onStop(stop),
  };
  return branch;
}

function nothing(): void {
  // there is nothing to let go of
}
