/**
 * A queue that takes turns between groups: one of each, then the next of each; within a group in the order of coming. So
 * whoever brings ten thousand at once makes nobody else wait for them. Every operation takes the same time, however many
 * wait.
 */
export interface FairQueue<Item> {
  /** An item is in it once: one that is waits where it stands. */
  push(item: Item, group: string): void;
  shift(): Item | undefined;
  /** What `shift` would give. */
  peek(): Item | undefined;
  delete(item: Item): boolean;
  readonly size: number;
  clear(): void;
  /** Group by group. */
  [Symbol.iterator](): Iterator<Item>;
}

interface Link<Item> {
  readonly item: Item;
  readonly lane: Lane<Item>;
  before: Link<Item> | undefined;
  after: Link<Item> | undefined;
}

/** What waits of one group. Lanes stand in a ring, in the order of their turns. */
interface Lane<Item> {
  readonly group: string;
  first: Link<Item> | undefined;
  last: Link<Item> | undefined;
  before: Lane<Item>;
  after: Lane<Item>;
}

/** Linked by hand: a Map whose first key is deleted and set again walks over what was deleted before. */
export function createFairQueue<Item>(): FairQueue<Item> {
  const links = new Map<Item, Link<Item>>();
  const lanes = new Map<string, Lane<Item>>();
  /** Whose turn it is. */
  let next: Lane<Item> | undefined;

  const openLane = (group: string): Lane<Item> => {
    const lane = { group, first: undefined, last: undefined } as Lane<Item>;
    const follower = next ?? lane;
    const leader = next?.before ?? lane;
    lane.before = leader;
    lane.after = follower;
    leader.after = lane;
    follower.before = lane;
    next ??= lane;
    lanes.set(group, lane);
    return lane;
  };
  const closeLane = (lane: Lane<Item>) => {
    lanes.delete(lane.group);
    lane.before.after = lane.after;
    lane.after.before = lane.before;
    if (next === lane) next = lane.after === lane ? undefined : lane.after;
  };
  const remove = (link: Link<Item>) => {
    const { item, lane, before, after } = link;
    links.delete(item);
    if (before === undefined) lane.first = after;
    else before.after = after;
    if (after === undefined) lane.last = before;
    else after.before = before;
    if (lane.first === undefined) closeLane(lane);
  };

  return {
    push(item, group) {
      if (links.has(item)) return;
      const lane = lanes.get(group) ?? openLane(group);
      const link: Link<Item> = { item, lane, before: lane.last, after: undefined };
      if (lane.last === undefined) lane.first = link;
      else lane.last.after = link;
      lane.last = link;
      links.set(item, link);
    },
    shift() {
      const link = next?.first;
      if (next === undefined || link === undefined) return undefined;
      next = next.after;
      remove(link);
      return link.item;
    },
    peek: () => next?.first?.item,
    delete(item) {
      const link = links.get(item);
      if (link !== undefined) remove(link);
      return link !== undefined;
    },
    get size() {
      return links.size;
    },
    clear() {
      links.clear();
      lanes.clear();
      next = undefined;
    },
    *[Symbol.iterator]() {
      for (const { first } of lanes.values())
        for (let link = first; link !== undefined; link = link.after) yield link.item;
    },
  };
}
