/**
 * First in, first out, at a constant cost: `Array.shift` moves all that is behind. A record: closures take six times as
 * much. An empty one is undefined, as most are.
 */
export interface Fifo<T> {
  items: T[];
  /** Places that have been used up. */
  used: number;
}

/** Used-up places that are kept before the rest is moved to the front. */
const MAX_USED = 1024;

/** With this at its end: the same one, unless it was empty. */
export function pushed<T>(fifo: Fifo<T> | undefined, item: T): Fifo<T> {
  // A copy: docs/decisions/copies.md. An array of one is a fifth of the size of one that is pushed to.
  if (fifo === undefined) return { items: [item], used: 0 };
  fifo.items.push(item);
  return fifo;
}

export const first = <T>({ items, used }: Fifo<T>): T => items[used] as T;

/** Without its first: the same one, unless that leaves none. */
export function shifted<T>(fifo: Fifo<T>): Fifo<T> | undefined {
  const { items } = fifo;
  fifo.used++;
  if (fifo.used === items.length) return undefined;
  if (fifo.used > MAX_USED && fifo.used * 2 > items.length) {
    fifo.items = items.slice(fifo.used);
    fifo.used = 0;
  }
  return fifo;
}
