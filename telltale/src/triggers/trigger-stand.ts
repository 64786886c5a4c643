import type { TriggerIndex } from './trigger-index.ts';

/**
 * How the conditions of one session stand between two updates. A function of the values there are and of whether there
 * was an update: what asks for a change holds while an update is taken and is over behind it.
 */
export interface TriggerStand {
  readonly index: TriggerIndex;
  /** Whether there was an update: before the first one all conditions count as false. */
  begun: boolean;
  /** Atoms that hold: 1. */
  readonly holding: Uint8Array;
  /** How many atoms of each trigger do not hold. */
  readonly unmet: Uint16Array;
  /** Triggers that hold and may fire without becoming true: `on_change` and `on_update`. */
  readonly staying: Set<number>;
  /** Atoms that ask for a change and were looked at in the update in hand. */
  readonly fleeting: number[];
  /** Triggers that the update in hand made true or false: `flips` says whether an odd number of times. */
  readonly touched: Int32Array;
  readonly flips: Uint8Array;
  touches: number;
}

export const createTriggerStand = (index: TriggerIndex): TriggerStand => ({
  index,
  begun: false,
  holding: new Uint8Array(index.usersFrom.length),
  unmet: Uint16Array.from(index.sizes),
  staying: new Set(),
  fleeting: [],
  touched: new Int32Array(index.triggers.length),
  flips: new Uint8Array(index.triggers.length),
  touches: 0,
});

/** Whether a trigger's condition holds between updates. */
export const holdsNow = ({ unmet }: TriggerStand, trigger: number): boolean => unmet[trigger] === 0;

/** Two loops, so that each has one test: an update at 10,000 triggers spends most of its time here. */
export function setAtom(stand: TriggerStand, atom: number, holds: boolean): void {
  const { index, holding, unmet } = stand;
  const bit = holds ? 1 : 0;
  if (holding[atom] === bit) return;
  holding[atom] = bit;
  const { users } = index;
  const to = index.usersTo[atom] as number;
  let at = index.usersFrom[atom] as number;
  if (holds) {
    for (; at < to; at++) {
      const trigger = users[at] as number;
      const left = (unmet[trigger] as number) - 1;
      unmet[trigger] = left;
      if (left === 0) touch(stand, trigger);
    }
    return;
  }
  for (; at < to; at++) {
    const trigger = users[at] as number;
    const left = unmet[trigger] as number;
    unmet[trigger] = left + 1;
    if (left === 0) touch(stand, trigger);
  }
}

/** A trigger that is not as it was before the update. */
export const CHANGED = 3;

/** Bit 1: it is in the list. Bit 0: it is not as it was before the update. */
function touch(stand: TriggerStand, trigger: number): void {
  const { flips } = stand;
  const flip = flips[trigger] as number;
  if (flip === 0) stand.touched[stand.touches++] = trigger;
  flips[trigger] = (flip ^ 1) | 2;
}
