import { setTimeout as wait } from 'node:timers/promises';

export interface KeptList<T> {
  /** Lists for the first time; what has changed meanwhile is listed again behind it. */
  first(): Promise<T>;
  /** The server says that its list has changed. */
  changed(): void;
}

export interface ListDeps<T> {
  readonly list: () => Promise<T>;
  readonly onList: (list: T) => void;
  /** A new list could not be read: the old one counts. */
  readonly onFailure: (thrown: unknown) => void;
  readonly isOpen: () => boolean;
}

/** Between two lists of a server that says again and again that its list has changed. */
const PAUSE_MS = 250;

/** Lists again when a list has changed: one list at a time, and however often it is said, no more than now and then. */
export function keepListed<T>({ list, onList, onFailure, isOpen }: ListDeps<T>): KeptList<T> {
  let isStale = false;
  let isBusy = true; // until it has been listed for the first time

  const listAgain = async () => {
    isBusy = true;
    try {
      while (isStale && isOpen()) {
        isStale = false;
        onList(await list());
        // Of no clock: the process must not stay for it.
        await wait(PAUSE_MS, undefined, { ref: false });
      }
    } catch (thrown) {
      onFailure(thrown);
    } finally {
      isBusy = false;
    }
  };
  return {
    async first() {
      const found = await list();
      isBusy = false;
      if (isStale) void listAgain(); // never rejects
      return found;
    },
    changed() {
      isStale = true;
      if (!isBusy) void listAgain(); // never rejects
    },
  };
}
