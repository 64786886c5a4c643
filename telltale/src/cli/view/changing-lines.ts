/** The lines of a screen, some of which still change. Lines above the first changing one are done. */
export interface ChangingLines<Thing> {
  line(text: string): void;
  thing(thing: Thing): void;
  /** Takes the lines that no longer change. If more than `most` lines would remain, it takes changing ones too. */
  take(now: number, most: number): readonly string[];
  live(now: number): readonly string[];
  /** Reports that a line was shown before, elsewhere. Its end will get a line of its own. */
  detach(thing: Thing): void;
  /** Whether its line was taken while it could still change. Forgets that. */
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
