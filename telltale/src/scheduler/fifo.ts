/** First in, first out, at a constant cost: `Array.shift` moves all that is behind. A record: closures take six times as much. */
export interface Fifo<T> {
  items: T[];
  /** Places that have been used up. */
  used: number;
}

/** Used-up places that are kept before the rest is moved to the front. */
const MAX_USED = 1024;

/** Of an empty one, whatever it is to hold. Never added to. */
const NOTHING: never[] = [];

// A copy: docs/decisions/copies.md
export const createFifo = <T>(): Fifo<T> => ({ ...{ items: NOTHING, used: 0 } });

export function pushFifo<T>(fifo: Fifo<T>, item: T): void {
  // An array of one is a fifth of the size of one that is pushed to.
  if (fifo.items === NOTHING) fifo.items = [item];
  else fifo.items.push(item);
}

export function shiftFifo<T>(fifo: Fifo<T>): T | undefined {
  const { items } = fifo;
  if (fifo.used === items.length) return undefined;
  const item = items[fifo.used++];
  if (fifo.used === items.length) clearFifo(fifo);
  else if (fifo.used > MAX_USED && fifo.used * 2 > items.length) {
    fifo.items = items.slice(fifo.used);
    fifo.used = 0;
  }
  return item;
}

export function clearFifo(fifo: Fifo<unknown>): void {
  fifo.items = NOTHING;
  fifo.used = 0;
}
