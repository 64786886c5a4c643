/**
 * What a list and a table are until something is put into them: one for all. Most sessions never have a timer, a review
 * or a variable, and an empty array of one's own is 32 bytes, an empty Map 190, an empty Set 160.
 */
export const NONE: readonly never[] = Object.freeze([]);
export const NOTHING: ReadonlyMap<never, never> = Object.freeze(new Map<never, never>());
export const NOBODY: ReadonlySet<never> = Object.freeze(new Set<never>());

/** Up to here a list is copied to get one more: the engine gives one that is pushed to room for 16 more, 128 bytes. */
const MAX_COPIED = 8;

/**
 * Lists of one, of two and so on, to be copied. Where a list is written out, the engine learns that some live long, and
 * makes all of that place in the old generation, where they keep what they hold until that is collected.
 */
const BLANKS: readonly (readonly undefined[])[] = Array.from({ length: MAX_COPIED }, (_, length) =>
  Array.from({ length: length + 1 }, () => undefined),
);

/** The list with one more at its end. It is the same one where it is longer than a few. */
export function added<Item>(list: readonly Item[], item: Item): readonly Item[] {
  const { length } = list;
  const blank = BLANKS[length];
  if (blank === undefined) {
    (list as Item[]).push(item);
    return list;
  }
  // A spread would have that room, too, and `concat` takes five times as long: 250 ns.
  const longer = blank.slice() as Item[];
  for (let at = 0; at < length; at++) longer[at] = list[at] as Item;
  longer[length] = item;
  return longer;
}

/** The list without its last: the same one, unless that leaves none. Only for a list that nobody else has. */
export function withoutLast<Item>(list: readonly Item[]): readonly Item[] {
  if (list.length <= 1) return NONE;
  (list as Item[]).pop();
  return list;
}

/** The list without that one. */
export function without<Item>(list: readonly Item[], item: Item): readonly Item[] {
  const at = list.indexOf(item);
  if (at === -1) return list;
  return list.length === 1 ? NONE : list.toSpliced(at, 1); // what is filtered has that room, too
}

/** The table with this in it: the same one, unless it was `NOTHING`. */
export function put<Key, Value>(
  table: ReadonlyMap<Key, Value>,
  key: Key,
  value: Value,
): ReadonlyMap<Key, Value> {
  const own = table === NOTHING ? new Map<Key, Value>() : (table as Map<Key, Value>);
  return own.set(key, value);
}

/**
 * The table without it: the same one, unless that leaves nothing in it. The one before then still has it, and counts no
 * longer: a table that loses its last entry is made anew by the engine, at 210 bytes.
 */
export function dropped<Key, Value>(table: ReadonlyMap<Key, Value>, key: Key): ReadonlyMap<Key, Value> {
  if (!table.has(key)) return table;
  if (table.size === 1) return NOTHING;
  (table as Map<Key, Value>).delete(key);
  return table;
}

/** As `put` and `dropped`, for a set. */
export function joined<Item>(set: ReadonlySet<Item>, item: Item): ReadonlySet<Item> {
  const own = set === NOBODY ? new Set<Item>() : (set as Set<Item>);
  return own.add(item);
}

export function left<Item>(set: ReadonlySet<Item>, item: Item): ReadonlySet<Item> {
  if (!set.has(item)) return set;
  if (set.size === 1) return NOBODY;
  (set as Set<Item>).delete(item);
  return set;
}
