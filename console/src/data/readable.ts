import { useSyncExternalStore } from 'react';

/** A value that changes. `get` returns the same value until the subscribers have been called. */
export interface Readable<Value> {
  readonly get: () => Value;
  /** The returned function unsubscribes. */
  readonly subscribe: (changed: () => void) => () => void;
}

export interface Store<Value> extends Readable<Value> {
  readonly set: (value: Value) => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const changed of listeners) changed();
    },
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

export const useReadable = <Value>({ get, subscribe }: Readable<Value>): Value =>
  useSyncExternalStore(subscribe, get);
