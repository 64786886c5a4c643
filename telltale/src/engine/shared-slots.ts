import { randomUUID } from 'node:crypto';
import { type Clock, sleep } from '../lib/clock.ts';
import { toRuntimeError } from '../lib/errors.ts';
import type { SharedSlots } from '../store/shared-store.ts';
import type { FreeSlot, LocalSlots, SlotAsk, Slots } from './slots.ts';

export interface SharedSlotsOptions {
  readonly slots: SharedSlots;
  /** The line within this process. */
  readonly local: LocalSlots;
  readonly clock: Clock;
}

/** Pauses between two looks where nobody says that one is free, as it is when its holder died: doubling, from here to there. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/**
 * A process whose next caller stands ready when it gives a slot back would be quicker than any other, each time. After so
 * many in a row it leaves the slot to the others for a moment.
 */
const MOST_IN_A_ROW = 8;
const YIELD_MS = 25;
/** A slot that cannot be given back is tried again that often; it is free at the latest when this process is dead. */
const MOST_RETURNS = 100;
const LONGEST_RETURN_MS = 30_000;

/**
 * Slots over all processes of a store. A process asks for no more than there are, one ask at a time for each key: the
 * others stand in its own line, where groups take turns.
 */
export function createSharedSlots({ slots, local, clock }: SharedSlotsOptions): Slots {
  const own = randomUUID();
  /** Slots of a key that this process took one after the other while more of it waited. */
  const inARow = new Map<string, number>();
  let asked = 0;

  /** Whether it was given; an answer that did not come is given back, as it may have been yes. */
  const ask = async (key: string, max: number, holder: string): Promise<boolean> => {
    try {
      return await slots.take(key, max, holder);
    } catch (thrown) {
      void giveBack(key, holder);
      if (!toRuntimeError(thrown).retryable) throw thrown;
      return false;
    }
  };
  const giveBack = async (key: string, holder: string): Promise<void> => {
    try {
      await slots.free(key, holder);
    } catch {
      void giveBackLater(key, holder); // it rejects with nothing
    }
  };
  const giveBackLater = async (key: string, holder: string): Promise<void> => {
    for (let tries = 0; tries < MOST_RETURNS; tries++) {
      await sleep(clock, Math.min(LONGEST_RETURN_MS, FIRST_PAUSE_MS * 2 ** tries));
      try {
        await slots.free(key, holder);
        return;
      } catch (thrown) {
        if (!toRuntimeError(thrown).retryable) return; // the store is closed: so is this process's share of it
      }
    }
  };

  /** Gives the name under which a slot is held. */
  const obtain = async (key: string, max: number, { signal }: SlotAsk): Promise<string> => {
    if ((inARow.get(key) ?? 0) >= MOST_IN_A_ROW) {
      inARow.delete(key);
      await sleep(clock, YIELD_MS, signal);
    }
    const notifier = createSlotNotifier(clock, (notified) => slots.onFree(key, notified));
    try {
      for (let pause = 0; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2 || FIRST_PAUSE_MS)) {
        const holder = `${own}:${++asked}`;
        const isOurs = await ask(key, max, holder);
        if (signal.aborted && isOurs) void giveBack(key, holder);
        signal.throwIfAborted();
        if (isOurs) return holder;
        inARow.delete(key);
        // It is listened for from now on, and looked once more: what came free in between has rung nowhere.
        if (!notifier.isListening()) notifier.listen();
        else await notifier.wait(pause, signal);
      }
    } finally {
      notifier.close();
    }
  };

  const takeShared = async (key: string, max: number, asking: SlotAsk): Promise<FreeSlot> => {
    const permit = await local.take(key, max, asking);
    try {
      const turn = await local.take(`${key} of all`, 1, asking);
      try {
        const holder = await obtain(key, max, asking);
        if (local.hasWaiting(key)) inARow.set(key, (inARow.get(key) ?? 0) + 1);
        else inARow.delete(key);
        return freeOf(key, holder, permit);
      } finally {
        turn();
      }
    } catch (thrown) {
      permit();
      throw thrown;
    }
  };
  /** The next of this process asks once it is free for all. */
  const freeOf = (key: string, holder: string, permit: FreeSlot): FreeSlot => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      void giveBack(key, holder).then(permit);
    };
  };
  return { take: takeShared };
}

/** Rings where something may have come free. */
function createSlotNotifier(clock: Clock, subscribe: (notified: () => void) => () => void) {
  let end: (() => void) | undefined;
  let wasNotified = false;
  let wake: (() => void) | undefined;
  return {
    isListening: () => end !== undefined,
    listen() {
      end = subscribe(() => {
        wasNotified = true;
        wake?.();
      });
    },
    /** Resolves once it has rung since the last wait, or the pause is over; rejects with the signal's reason. */
    async wait(pauseMs: number, signal: AbortSignal): Promise<void> {
      if (!wasNotified) {
        const over = new AbortController();
        wake = () => over.abort();
        await sleep(clock, pauseMs, AbortSignal.any([signal, over.signal])).catch(() => undefined);
        wake = undefined;
      }
      wasNotified = false;
      signal.throwIfAborted();
    },
    close: () => end?.(),
  };
}
