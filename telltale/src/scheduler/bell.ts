import { added, dropped, NONE, put, without } from '../kernel/grow.ts';
import { type Fifo, first, pushed, shifted } from './fifo.ts';

/** Tells of ends, in the order of the log. */
export interface Bell {
  /** Ids that have ended and that nobody was told of. */
  notes: Fifo<string> | undefined;
  /** Who waits for which id. */
  waiters: ReadonlyMap<string, readonly Waiter[]>;
  ringing: boolean;
  /** Told of each end, before those who wait for it. */
  heard(id: string): void;
}

interface Waiter {
  left: number;
  readonly then: () => void;
}

/** This id has ended. Nobody is told before `ring`. */
export function noteEnd(bell: Bell, id: string): void {
  bell.notes = pushed(bell.notes, id);
}

/** Calls back once so many of these are noted. The returned function forgets it. */
export function waitForEnds(bell: Bell, ids: readonly string[], left: number, then: () => void): () => void {
  const waiter: Waiter = { left, then }; // a copy: docs/decisions/copies.md
  for (const id of ids) bell.waiters = put(bell.waiters, id, added(bell.waiters.get(id) ?? NONE, waiter));
  return () => {
    waiter.left = 0; // where it is being told now
    for (const id of ids) leave(bell, id, waiter);
  };
}

function leave(bell: Bell, id: string, waiter: Waiter): void {
  const waiting = bell.waiters.get(id);
  if (waiting === undefined) return;
  const others = without(waiting, waiter);
  bell.waiters = others.length === 0 ? dropped(bell.waiters, id) : put(bell.waiters, id, others);
}

/** Tells whoever waits, what comes up meanwhile included. */
export function ring(bell: Bell): void {
  if (bell.ringing) return; // whoever is being told has brought about another end: that is told next
  bell.ringing = true;
  try {
    for (let { notes } = bell; notes !== undefined; { notes } = bell) {
      const id = first(notes);
      bell.notes = shifted(notes);
      tell(bell, id);
    }
  } finally {
    bell.ringing = false;
  }
}

function tell(bell: Bell, id: string): void {
  bell.heard(id);
  const waiting = bell.waiters.get(id);
  if (waiting === undefined) return;
  bell.waiters = dropped(bell.waiters, id);
  for (const waiter of waiting) if (--waiter.left === 0) waiter.then();
}

/** Forgets what was noted. */
export function mute(bell: Bell): void {
  bell.notes = undefined;
}
