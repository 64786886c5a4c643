import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import { storeExists, storeLocation } from './store-location.ts';

/** A store that is being opened while the agent is still being read. */
export interface EarlyStore {
  /** To be awaited before more is loaded: loading holds this thread to its end, and its own would start behind that. */
  readonly begun: Promise<void>;
  /** Whoever takes it closes it. Rejects as opening it only now would. */
  take(): Promise<Store>;
  /** Closes it if nobody has taken it. */
  close(): Promise<void>;
}

/**
 * Opens a store that is there already: its thread starts on another core while this one loads the rest. One that would
 * have to be made is left until the manifest has turned out well: undefined.
 */
export function openEarly(
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  options: {
    readonly store?: string;
    readonly durability?: 'power' | 'process';
    /** Whether a database without a store is refused rather than given one. */
    readonly mustExist?: boolean;
  },
): EarlyStore | undefined {
  const location = storeLocation(options.store, io);
  if (!storeExists(location, io)) return undefined;
  const { cwd, clock } = io;
  const { durability = 'power', mustExist = false } = options;
  const opening = runtimes.openStore(location, { cwd, clock, durability, mustExist });
  opening.catch(() => undefined); // told to whoever takes it
  let isTaken = false;
  return {
    begun: new Promise((resolve) => setImmediate(resolve)),
    take() {
      isTaken = true;
      return opening;
    },
    async close() {
      if (isTaken) return;
      const store = await opening.catch(() => undefined);
      await store?.close();
    },
  };
}
