import { createSystemClock } from '../../src/lib/clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Tables } from '../../src/store/store.ts';

/** The tables of a store, in memory. `now` is for times to live. */
export const memoryTables = (now: () => number = () => 0): Tables =>
  createMemoryStore({ clock: { ...createSystemClock(), now } }).tables;
