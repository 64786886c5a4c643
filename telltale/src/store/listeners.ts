/** Who is to be called about a thing. */
export interface Listeners<Key> {
  /** The returned function ends it. */
  add(key: Key, call: () => void): () => void;
  call(key: Key): void;
}

/** `first` is told of a thing that somebody listens to now, `last` of one that nobody does any more. */
export function createListeners<Key>(first: (key: Key) => void, last: (key: Key) => void): Listeners<Key> {
  const all = new Map<Key, Set<() => void>>();
  return {
    add(key, call) {
      const own = () => call();
      const others = all.get(key);
      if (others === undefined) {
        all.set(key, new Set([own]));
        first(key);
      } else others.add(own);
      return () => {
        const left = all.get(key);
        if (left?.delete(own) !== true || left.size > 0) return;
        all.delete(key);
        last(key);
      };
    },
    call(key) {
      const listeners = all.get(key);
      if (listeners !== undefined) for (const call of [...listeners]) call();
    },
  };
}
