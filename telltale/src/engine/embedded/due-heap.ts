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
