/** Lines of a screen of which some still change: what is above the first of those is done. */
export interface ChangingLines<Thing> {
  line(text: string): void;
  thing(thing: Thing): void;
  /** Lines that will not change any more. Where more than `most` lines are left, even those that might. */
  take(now: number, most: number): readonly string[];
  live(now: number): readonly string[];
  /** Says that its line has been shown before, elsewhere: its end gets a line of its own. */
  detach(thing: Thing): void;
  /** Whether its line has left the part that changes; forgets that. */
  attach(thing: Thing): boolean;
}

type Item<Thing> = { readonly line: string } | { readonly thing: Thing };

export function createChangingLines<Thing>(
  isOver: (thing: Thing) => boolean,
  linesOf: (thing: Thing, now: number) => readonly string[],
): ChangingLines<Thing> {
  const items: Item<Thing>[] = [];
  const detached = new Set<Thing>();
  const itemLines = (item: Item<Thing>, now: number) =>
    'line' in item ? [item.line] : linesOf(item.thing, now);
  return {
    line: (line) => void items.push({ line }),
    thing: (thing) => void items.push({ thing }),
    take(now, most) {
      const done: string[] = [];
      let left = items.reduce((sum, item) => sum + itemLines(item, now).length, 0);
      for (let item = items[0]; item !== undefined; item = items[0]) {
        if ('thing' in item && !isOver(item.thing)) {
          if (left <= most) break;
          detached.add(item.thing);
        }
        const lines = itemLines(item, now);
        done.push(...lines);
        left -= lines.length;
        items.shift();
      }
      return done;
    },
    live: (now) => items.flatMap((item) => itemLines(item, now)),
    detach: (thing) => void detached.add(thing),
    attach: (thing) => detached.delete(thing),
  };
}
