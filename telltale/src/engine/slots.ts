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
