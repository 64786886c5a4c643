import { tellOne } from '../lib/errors.ts';

/** Who is to be called about a thing. */
export interface StoreListeners<Key> {
  /** The returned function ends it. */
  add(key: Key, call: () => void, owner?: object): () => void;
  /** Ends all that were added for this owner, who so need not keep what would end each. */
  drop(key: Key, owner: object): void;
  /** One who throws keeps nobody from being called, nor the one who calls from going on. */
  call(key: Key): void;
}

/** `first` is told of a thing that somebody listens to now, `last` of one that nobody does any more. */
export function createListeners<Key>(
  first: (key: Key) => void,
  last: (key: Key) => void,
): StoreListeners<Key> {
  // A change makes a new list, so that a list can be walked while listeners come and go.
  const all = new Map<Key, readonly ListenersListener[]>();
  const remove = (key: Key, gone: ListenersListener) => {
    const known = all.get(key) ?? [];
    if (!known.includes(gone)) return;
    const left = known.filter((each) => each !== gone);
    // A table that was replaced by another may still lead to it until the next full collection.
    gone.call = nobody;
    gone.owner = undefined;
    if (left.length > 0) {
      all.set(key, left);
      return;
    }
    all.delete(key);
    last(key);
  };
  return {
    add(key, call, owner) {
      const own: ListenersListener = { call, owner };
      const others = all.get(key);
      all.set(key, others === undefined ? [own] : [...others, own]);
      if (others === undefined) first(key);
      return () => remove(key, own);
    },
    drop(key, owner) {
      for (const each of all.get(key) ?? []) if (each.owner === owner) remove(key, each);
    },
    call(key) {
      for (const { call } of all.get(key) ?? []) tellOne(call, undefined);
    },
  };
}

/** A record of one's own: the same function may be there twice. */
interface ListenersListener {
  call: () => void;
  owner: object | undefined;
}

function nobody(): void {
  // it has left
}
