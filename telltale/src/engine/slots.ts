import { RuntimeError } from '../lib/errors.ts';

/** Who wait for slots of one key. */
const MAX_WAITING = 100_000;

interface Waiter {
  /** What it is content with: two that ask for one key may have different manifests. */
  readonly max: number;
  readonly go: () => void;
}

interface SlotsKey {
  held: number;
  readonly waiting: FairQueue<Waiter>;
}

export interface LocalSlots extends Slots {
  /** Whether anybody waits for a slot of a key. */
  hasWaiting(key: string): boolean;
}

/** Slots of this process. A key that nobody holds or waits for is forgotten. */
export function createLocalSlots(): LocalSlots {
  const keys = new Map<string, SlotsKey>();

  const open = (key: string): SlotsKey => {
    const known = keys.get(key);
    if (known !== undefined) return known;
    const made: SlotsKey = { held: 0, waiting: createFairQueue() };
    keys.set(key, made);
    return made;
  };
  /** Whoever has the turn goes first, also where another with a greater `max` could go now: else it might never. */
  const passOn = (key: string, of: SlotsKey) => {
    for (let next = of.waiting.peek(); next !== undefined && of.held < next.max; next = of.waiting.peek()) {
      of.waiting.shift();
      of.held++;
      next.go();
    }
    if (of.held === 0 && of.waiting.size === 0) keys.delete(key);
  };
  const freeOf = (key: string, of: SlotsKey): FreeSlot => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      of.held--;
      passOn(key, of);
    };
  };
  const wait = (key: string, of: SlotsKey, max: number, { group, signal }: SlotAsk): Promise<FreeSlot> =>
    new Promise((resolve, reject) => {
      const withdraw = () => {
        of.waiting.delete(waiter);
        reject(signal.reason);
        passOn(key, of); // those behind it may be content with more
      };
      const waiter: Waiter = {
        max,
        go() {
          signal.removeEventListener('abort', withdraw);
          resolve(freeOf(key, of));
        },
      };
      of.waiting.push(waiter, group);
      signal.addEventListener('abort', withdraw, { once: true });
    });

  return {
    take(key, max, ask) {
      if (ask.signal.aborted) return Promise.reject(ask.signal.reason);
      const of = open(key);
      if (of.waiting.size >= MAX_WAITING) return Promise.reject(slotsFull(key));
      if (of.held >= max || of.waiting.size > 0) return wait(key, of, max, ask);
      of.held++;
      return freeOf(key, of);
    },
    hasWaiting: (key) => (keys.get(key)?.waiting.size ?? 0) > 0,
  };
}

const slotsFull = (key: string) =>
  new RuntimeError('slots_full', `${MAX_WAITING} calls wait for a slot of ${key} already.`, {
    hint: 'Raise the "max_parallel" of what they call, add workers, or start less at once.',
    retryable: true,
  });

/** Gives a slot back; called again it does nothing. */
export type FreeSlot = () => void;

export interface SlotAsk {
  /** Who takes turns for it where several wait: the session or run at the top. */
  readonly group: string;
  readonly signal: AbortSignal;
}

/** Takes slots for one group. */
export type TakeSlot = (key: string, max: number, signal: AbortSignal) => FreeSlot | Promise<FreeSlot>;

/** Counted permits: a tool's `max_parallel`. Over all machines of a fleet; else of this process. */
export interface Slots {
  /**
   * Takes one of the `max` slots of a key: at once where that can be done without a word to anybody, else once one is
   * free; groups take turns, each in the order of its asking, as far as this process goes. Rejects with the signal's
   * reason where that is aborted first.
   */
  take(key: string, max: number, ask: SlotAsk): FreeSlot | Promise<FreeSlot>;
}

export const takeSlotFor =
  (slots: Slots, group: string): TakeSlot =>
  (key, max, signal) =>
    slots.take(key, max, { group, signal });

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
