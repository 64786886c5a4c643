import { clearFifo, createFifo, pushFifo, shiftFifo } from './fifo.ts';

/** Tells of ends, in the order of the log. */
export interface Bell {
  /** This id has ended. Nobody is told before `ring`. */
  note(id: string): void;
  /** Calls back once all of these are noted; not at all if there are none. */
  wait(ids: readonly string[], then: () => void): void;
  /** Tells whoever waits, what comes up meanwhile included. */
  ring(): void;
  /** Forgets what was noted. */
  mute(): void;
}

interface Waiter {
  left: number;
  readonly then: () => void;
}

export function createBell(ended: (id: string) => void): Bell {
  const notes = createFifo<string>();
  const waiters = new Map<string, Waiter[]>();
  let ringing = false;

  const tell = (id: string) => {
    ended(id);
    const waiting = waiters.get(id);
    if (waiting === undefined) return;
    waiters.delete(id);
    for (const waiter of waiting) if (--waiter.left === 0) waiter.then();
  };

  return {
    note: (id) => pushFifo(notes, id),
    wait(ids, then) {
      const waiter: Waiter = { left: ids.length, then };
      for (const id of ids) {
        const others = waiters.get(id);
        if (others === undefined) waiters.set(id, [waiter]);
        else others.push(waiter);
      }
    },
    ring() {
      if (ringing) return; // whoever is being told has brought about another end: that is told next
      ringing = true;
      try {
        for (let id = shiftFifo(notes); id !== undefined; id = shiftFifo(notes)) tell(id);
      } finally {
        ringing = false;
      }
    },
    mute: () => clearFifo(notes),
  };
}
