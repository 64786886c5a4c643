import { readPath } from '../conditions/own-property.ts';
import { scalarKey } from './atoms.ts';
import type { FieldUpdate, Firing } from './state-trigger.ts';
import type { TriggerIndex } from './trigger-index.ts';

/** How the conditions of one session stand. Of a session without an update, all are false. */
export interface TriggerStand {
  readonly index: TriggerIndex;
  /** Whether there was an update. */
  begun: boolean;
  /** Atoms that hold: 1. */
  readonly holding: Uint8Array;
  /** How many atoms of each trigger do not hold. */
  readonly unmet: Uint16Array;
  /** Triggers that hold and may fire without becoming true: `on_change` and `on_update`. */
  readonly staying: Set<number>;
  /** Atoms that ask for a change and were looked at in the last update: in the next one that is over. */
  fleeting: Set<number>;
  /** `once` triggers that have fired. */
  readonly spent: Set<number>;
  /** Triggers that the update in hand made true or false: `flips` says whether an odd number of times. */
  readonly touched: Int32Array;
  readonly flips: Uint8Array;
  touches: number;
}

export const createTriggerStand = (index: TriggerIndex): TriggerStand => ({
  index,
  begun: false,
  holding: new Uint8Array(index.users.length),
  unmet: Uint16Array.from(index.sizes),
  staying: new Set(),
  fleeting: new Set(),
  spent: new Set(),
  touched: new Int32Array(index.triggers.length),
  flips: new Uint8Array(index.triggers.length),
  touches: 0,
});

/** Takes the next update and tells what it sets off, in the order of the triggers. */
export function matchTriggers(stand: TriggerStand, update: FieldUpdate): readonly Firing[] {
  const { index } = stand;
  const before = stand.fleeting;
  stand.fleeting = new Set();
  if (!stand.begun) {
    stand.begun = true;
    for (const root of index.paths.keys()) lookUp(stand, root, update, true);
    for (let atom = 0; atom < index.testAtoms.length; atom++) look(stand, atom, update);
  } else {
    for (const root of update.changed) {
      lookUp(stand, root, update, false);
      const tests = index.tests.get(root);
      if (tests !== undefined) for (const atom of tests) look(stand, atom, update);
    }
    for (const atom of before) if (!stand.fleeting.has(atom)) settle(stand, atom, update);
  }
  return fire(stand, update);
}

/** Finds the atoms that the new values of a top-level field satisfy, and those that the old ones did. */
function lookUp(
  stand: TriggerStand,
  root: string,
  { current, previous }: FieldUpdate,
  isFirst: boolean,
): void {
  const paths = stand.index.paths.get(root);
  if (paths === undefined) return;
  for (const { path, byKey } of paths) {
    const now = scalarKey(readPath(current, path));
    const was = isFirst ? undefined : scalarKey(readPath(previous, path));
    if (now === was) continue;
    const lost = was === undefined ? undefined : byKey.get(was);
    if (lost !== undefined)
      for (const atom of lost)
        if (now === undefined || stand.index.keys[atom]?.has(now) !== true) set(stand, atom, 0);
    const won = now === undefined ? undefined : byKey.get(now);
    if (won !== undefined) for (const atom of won) set(stand, atom, 1);
  }
}

function look(stand: TriggerStand, atom: number, update: FieldUpdate): void {
  const test = stand.index.testAtoms[atom];
  if (test === undefined) return;
  set(stand, atom, test.holds(update) ? 1 : 0);
  if (test.fleeting) stand.fleeting.add(atom);
}

/** Looks at an atom once more because a change is over; none of its fields has changed since. */
function settle(stand: TriggerStand, atom: number, update: FieldUpdate): void {
  const test = stand.index.testAtoms[atom];
  if (test !== undefined) set(stand, atom, test.holds(update) ? 1 : 0);
}

/** Two loops, so that each has one test: an update at 10,000 triggers spends most of its time here. */
function set(stand: TriggerStand, atom: number, holds: 0 | 1): void {
  const { index, holding, unmet } = stand;
  if (holding[atom] === holds) return;
  holding[atom] = holds;
  const users = index.users[atom] as Int32Array;
  if (holds === 1) {
    for (let i = 0; i < users.length; i++) {
      const trigger = users[i] as number;
      const left = (unmet[trigger] as number) - 1;
      unmet[trigger] = left;
      if (left === 0) touch(stand, trigger);
    }
    return;
  }
  for (let i = 0; i < users.length; i++) {
    const trigger = users[i] as number;
    const left = unmet[trigger] as number;
    unmet[trigger] = left + 1;
    if (left === 0) touch(stand, trigger);
  }
}

/** Bit 1: it is in the list. Bit 0: it is not as it was before the update. */
function touch(stand: TriggerStand, trigger: number): void {
  const { flips } = stand;
  const flip = flips[trigger] as number;
  if (flip === 0) stand.touched[stand.touches++] = trigger;
  flips[trigger] = (flip ^ 1) | 2;
}

/** What the touched triggers do, and those that hold on. */
function fire(stand: TriggerStand, update: FieldUpdate): readonly Firing[] {
  const { index, staying, flips, touches } = stand;
  const touched = stand.touched.subarray(0, touches);
  stand.touches = 0;
  if (touches > 1) touched.sort();
  const firings: Firing[] = [];
  let stays = 0;
  if (staying.size > 0)
    for (const trigger of staying) {
      if (flips[trigger] === CHANGED) continue;
      if (index.triggers[trigger]?.fire !== 'on_update' && index.named[trigger]?.(update) !== true) continue;
      stays++;
      firings.push({ trigger, as: 'stay' });
    }
  for (let i = 0; i < touches; i++) {
    const trigger = touched[i] as number;
    const isChanged = flips[trigger] === CHANGED;
    flips[trigger] = 0;
    if (!isChanged) continue;
    const as = turn(stand, trigger);
    if (as !== undefined) firings.push({ trigger, as });
  }
  return stays === 0 ? firings : firings.sort((a, b) => a.trigger - b.trigger);
}

const CHANGED = 3;

/** A trigger has become true or false; what it fires as, if it does. */
function turn({ index, unmet, staying, spent }: TriggerStand, trigger: number): Firing['as'] | undefined {
  const isTrue = unmet[trigger] === 0;
  const mode = index.triggers[trigger]?.fire;
  if (mode === 'on_exit') return isTrue ? undefined : 'exit';
  if (mode === 'on_change' || mode === 'on_update') {
    if (isTrue) staying.add(trigger);
    else staying.delete(trigger);
  }
  if (!isTrue) return undefined;
  if (mode === 'once') {
    if (spent.has(trigger)) return undefined;
    spent.add(trigger);
  }
  return 'enter';
}
