import type { Clock } from '../../kernel/clock.ts';
import { createDueHeap } from './due-heap.ts';

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
