import { surface } from './batch.ts';

/** Those who append what they have gathered when they are asked, in the order in which they came. */
export interface Gatherers {
  add(handOver: () => void): void;
  count(): number;
  /** Asks all of them. One who throws keeps nobody from being asked. */
  ask(): void;
}

export function createGatherers(): Gatherers {
  let waiting: (() => void)[] = [];
  return {
    add: (handOver) => void waiting.push(handOver),
    count: () => waiting.length,
    ask() {
      if (waiting.length === 0) return;
      const due = waiting;
      waiting = [];
      for (const handOver of due) {
        try {
          handOver();
        } catch (error) {
          surface(error);
        }
      }
    },
  };
}
