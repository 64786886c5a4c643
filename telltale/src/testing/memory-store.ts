import { createSystemClock } from '../kernel/clock.ts';
import { createMemoryStore as create, type MemoryStoreOptions } from '../store/memory/memory-store.ts';
import type { Store } from '../store/store.ts';

/** The whole store without a file. It outlives the runtimes that are created on it: closing those does not close it. */
export function createMemoryStore(options: Partial<MemoryStoreOptions> = {}): Store {
  return create({ clock: createSystemClock(), ...options });
}
