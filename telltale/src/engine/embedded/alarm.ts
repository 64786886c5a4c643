import type { Clock } from '../../lib/clock.ts';

/** Calls back at times of the wall clock. */
export interface Alarm<Item> {
  set(item: Item, due: number): void;
  delete(item: Item): void;
  dueOf(item: Item): number | undefined;
  /** When the earliest is due. */
  next(): number | undefined;
  /** Forgets everything. */
  close(): void;
}

/**
 * The longest sleep. Timers count time that passes, not what the wall says: where that is set anew or the machine was
 * suspended, what has come due meanwhile is found after that long at the latest. A look takes microseconds.
 */
const LONGEST_SLEEP_MS = 5_000;

/** One timer, for the earliest of all that is due. */
export function createAlarm<Item>(clock: Clock, ring: (item: Item, due: number) => void): Alarm<Item> {
  const heap = createDueHeap<Item>();
  let cancel: (() => void) | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let closed = false;

  const disarm = () => {
    cancel?.();
    cancel = undefined;
    armedFor = Number.POSITIVE_INFINITY;
  };
  const arm = () => {
    const next = heap.next();
    if (next === armedFor) return;
    disarm();
    if (next === undefined || closed) return;
    armedFor = next;
    cancel = clock.after(Math.min(Math.max(0, next - clock.now()), LONGEST_SLEEP_MS), wake);
  };
  const wake = () => {
    disarm();
    const now = clock.now();
    // What rings may be set anew, for a time that has come already: that rings after a turn of the event loop.
    const rung: { readonly item: Item; readonly due: number }[] = [];
    for (let each = heap.take(now); each !== undefined; each = heap.take(now)) rung.push(each);
    for (const { item, due } of rung) ring(item, due);
    arm();
  };

  return {
    set(item, due) {
      if (closed) return;
      heap.set(item, due);
      arm();
    },
    delete(item) {
      heap.delete(item);
      arm();
    },
    dueOf: heap.dueOf,
    next: () => (closed ? undefined : heap.next()),
    close() {
      closed = true;
      disarm();
    },
  };
}

/** Things that are due at a time, the earliest first. */
export interface DueHeap<Item> {
  /** Puts it in, or moves it. */
  set(item: Item, due: number): void;
  delete(item: Item): void;
  dueOf(item: Item): number | undefined;
  /** When the earliest is due. */
  next(): number | undefined;
  /** Takes the earliest out if it is due by `now`. Of those that are due at one time, in no order. */
  take(now: number): { readonly item: Item; readonly due: number } | undefined;
}

/** A binary heap that knows where each item stands, so that one which is moved or deleted leaves nothing behind. */
export function createDueHeap<Item>(): DueHeap<Item> {
  const items: Item[] = [];
  const dues: number[] = [];
  const places = new Map<Item, number>();

  const put = (at: number, item: Item, due: number) => {
    items[at] = item;
    dues[at] = due;
    places.set(item, at);
  };
  const dueAt = (at: number) => dues[at] ?? Number.POSITIVE_INFINITY;

  const settle = (start: number, item: Item, due: number) => {
    let at = start;
    for (let above = (at - 1) >> 1; at > 0 && dueAt(above) > due; above = (at - 1) >> 1) {
      put(at, items[above] as Item, dueAt(above));
      at = above;
    }
    for (;;) {
      const left = 2 * at + 1;
      const least = dueAt(left + 1) < dueAt(left) ? left + 1 : left;
      if (dueAt(least) >= due) break;
      put(at, items[least] as Item, dueAt(least));
      at = least;
    }
    put(at, item, due);
  };

  const remove = (item: Item) => {
    const at = places.get(item);
    if (at === undefined) return;
    places.delete(item);
    const last = items.pop() as Item;
    const lastDue = dues.pop() as number;
    if (at < items.length) settle(at, last, lastDue);
  };

  return {
    set(item, due) {
      settle(places.get(item) ?? items.length, item, due);
    },
    delete: remove,
    dueOf(item) {
      const at = places.get(item);
      return at === undefined ? undefined : dues[at];
    },
    next: () => dues[0],
    take(now) {
      const [item, due] = [items[0], dues[0]];
      if (due === undefined || due > now) return undefined;
      remove(item as Item);
      return { item: item as Item, due };
    },
  };
}
