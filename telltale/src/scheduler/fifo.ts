/** First in, first out, at a constant cost: `Array.shift` moves all that is behind. */
export interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
  clear(): void;
}

/** Used-up places that are kept before the rest is moved to the front. */
const MAX_USED = 1024;

export function createFifo<T>(): Fifo<T> {
  let items: T[] = [];
  let used = 0;
  const clear = () => {
    items = [];
    used = 0;
  };
  return {
    push: (item) => {
      items.push(item);
    },
    shift() {
      const item = items[used];
      if (used < items.length) used++;
      if (used === items.length) clear();
      else if (used > MAX_USED && used * 2 > items.length) {
        items = items.slice(used);
        used = 0;
      }
      return item;
    },
    clear,
  };
}
