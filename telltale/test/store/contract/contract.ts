import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createSimulatedClock, type SimulatedClock } from '../../../src/lib/simulated-clock.ts';
import type { Store, StreamHead } from '../../../src/store/store.ts';
import { corner } from '../corner.ts';
import { PATIENT } from '../eventually.ts';

/** A place where stores live. */
export interface StoreHome {
  /** A store on this place; several may be open at once, as in several processes. */
  open(clock: SimulatedClock): Promise<Store>;
  /** One whose process looks dead to the others. */
  openDead(clock: SimulatedClock): Promise<Store>;
  /** The pid that `open` gives to its stores. */
  readonly pid: number;
  remove(): Promise<void>;
}

/** What a test of the contract has at hand. */
export interface Contract {
  readonly clock: SimulatedClock;
  readonly home: StoreHome;
  /** Three on one home, shared by the tests; each test has its own corner of them. */
  readonly store: Store;
  readonly other: Store;
  readonly dead: Store;
  /** `store`, without a corner. */
  readonly shared: Store;
  /** For tests of a store as a whole: opens others on a home that is theirs alone. */
  alone(run: (open: (how?: 'open' | 'openDead') => Promise<Store>) => Promise<void>): Promise<void>;
}

export const SESSION: StreamHead = { kind: 'session', name: 'writer', status: 'running', title: 'A title' };

/** Opens the shared stores around the tests of the suite it is called in. */
export function setUpContract(makeHome: () => Promise<StoreHome>): Contract {
  const clock = createSimulatedClock();
  let home: StoreHome;
  let shared: readonly [store: Store, other: Store, dead: Store];
  let tests = 0;

  beforeAll(async () => {
    home = await makeHome();
    shared = await Promise.all([home.open(clock), home.open(clock), home.openDead(clock)]);
  }, PATIENT.timeout);
  beforeEach(() => {
    tests++;
  });
  afterAll(async () => {
    for (const one of shared) await one.close();
    await home.remove();
  });

  const inCorner = (store: Store) => corner(store, `test ${tests}`);
  return {
    clock,
    get home() {
      return home;
    },
    get store() {
      return inCorner(shared[0]);
    },
    get other() {
      return inCorner(shared[1]);
    },
    get dead() {
      return inCorner(shared[2]);
    },
    get shared() {
      return shared[0];
    },
    async alone(run) {
      const own = await makeHome();
      const opened: Store[] = [];
      try {
        await run(async (how = 'open') => {
          const one = await own[how](clock);
          opened.push(one);
          return one;
        });
      } finally {
        for (const one of opened) await one.close();
        await own.remove();
      }
    },
  };
}
