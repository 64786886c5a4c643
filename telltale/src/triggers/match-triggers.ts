import type { ConditionsComparison } from '../expressions/maps/conditions.ts';
import { ownProperty, readPath } from '../expressions/values.ts';
import type { FieldUpdate, Firing } from './state-trigger.ts';
import {
  FIRES_ON,
  type IndexedPath,
  type Key,
  keyOf,
  type Ranges,
  type TriggerIndex,
} from './trigger-index.ts';

/** What conditions look at while nothing changes. */
export type MatchTriggersValues = Pick<FieldUpdate, 'current' | 'beyond' | 'onProblem'>;

export interface StandValues extends MatchTriggersValues {
  /** Whether there was an update. */
  readonly begun: boolean;
}

const unchanged = (values: MatchTriggersValues): FieldUpdate => ({
  ...values,
  previous: values.current,
  changed: [],
});

/** The stand of a session that was let go of, from the values it has: as if it had lived through its updates. */
export function restoreTriggerStand(index: TriggerIndex, { begun, ...values }: StandValues): TriggerStand {
  const stand = createTriggerStand(index);
  if (!begun) return stand;
  stand.begun = true;
  lookAtAll(stand, unchanged(values));
  forget(stand);
  return stand;
}

/** Takes the next update and tells what it sets off, in the order of the triggers. */
export function matchTriggers(stand: TriggerStand, update: FieldUpdate): readonly Firing[] {
  const { index } = stand;
  if (!stand.begun) {
    stand.begun = true;
    lookAtAll(stand, update);
  } else {
    for (const root of update.changed) {
      lookUp(stand, root, update, false);
      const tests = index.tests.get(root);
      if (tests !== undefined) for (const atom of tests) look(stand, atom, update);
    }
    for (const atom of index.always) look(stand, atom, update);
  }
  const firings = fire(stand, update, true);
  if (stand.fleeting.length > 0) settle(stand, update);
  return firings;
}

/** Something beside the fields has changed: tells which triggers that reads became true or false. No update. */
export function lookAgain(stand: TriggerStand, values: MatchTriggersValues): readonly Firing[] {
  const { index } = stand;
  if (!stand.begun || index.beyond.length === 0) return [];
  const update = unchanged(values);
  for (const atom of index.beyond) look(stand, atom, update);
  return fire(stand, update, false);
}

function lookAtAll(stand: TriggerStand, update: FieldUpdate): void {
  const { paths, testAtoms } = stand.index;
  for (const root of paths.keys()) lookUp(stand, root, update, true);
  for (let atom = 0; atom < testAtoms.length; atom++) look(stand, atom, update);
}

function look(stand: TriggerStand, atom: number, update: FieldUpdate): void {
  const test = stand.index.testAtoms[atom];
  if (test === undefined) return;
  setAtom(stand, atom, test.holds(update));
  if (test.fleeting) stand.fleeting.push(atom);
}

/** A change is over behind its update: what asks for one is looked at as if nothing had changed, and fires nothing. */
function settle(stand: TriggerStand, update: FieldUpdate): void {
  const over = unchanged(update);
  for (const atom of stand.fleeting) setAtom(stand, atom, stand.index.testAtoms[atom]?.holds(over) === true);
  forget(stand);
}

/** What the touched triggers do, and in an update those that hold on. */
function fire(stand: TriggerStand, update: FieldUpdate, isUpdate: boolean): readonly Firing[] {
  const { index, staying, flips, touched, touches } = stand;
  stand.touches = 0;
  const firings: Firing[] = [];
  if (isUpdate && staying.size > 0)
    for (const trigger of staying) {
      if (flips[trigger] === CHANGED) continue;
      if (index.triggers[trigger]?.fire !== 'on_update' && index.named[trigger]?.(update) !== true) continue;
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
  return sorted(firings);
}

/** Up to there moving each to its place is quicker than the engine's sort. */
const FEW = 32;

function sorted(firings: Firing[]): readonly Firing[] {
  if (firings.length > FEW) return firings.sort((a, b) => a.trigger - b.trigger);
  for (let i = 1; i < firings.length; i++) {
    const firing = firings[i] as Firing;
    let at = i;
    for (; at > 0 && (firings[at - 1] as Firing).trigger > firing.trigger; at--)
      firings[at] = firings[at - 1] as Firing;
    firings[at] = firing;
  }
  return firings;
}

/** As `fire`, of what nobody is told. */
function forget(stand: TriggerStand): void {
  const { touched, flips, touches } = stand;
  stand.touches = 0;
  stand.fleeting.length = 0;
  for (let i = 0; i < touches; i++) {
    const trigger = touched[i] as number;
    if (flips[trigger] === CHANGED) turn(stand, trigger);
    flips[trigger] = 0;
  }
}

/** A trigger has become true or false; what it fires as, if it does. */
function turn({ index, unmet, staying }: TriggerStand, trigger: number): Firing['as'] | undefined {
  const isTrue = unmet[trigger] === 0;
  const mode = index.modes[trigger] as number;
  if ((mode & FIRES_ON.stay) !== 0) {
    if (isTrue) staying.add(trigger);
    else staying.delete(trigger);
  }
  if (isTrue) return (mode & FIRES_ON.enter) === 0 ? undefined : 'enter';
  return (mode & FIRES_ON.exit) === 0 ? undefined : 'exit';
}

/** Finds the atoms that the new values of a top-level field satisfy, and those that the old ones did. */
function lookUp(stand: TriggerStand, root: string, update: FieldUpdate, isFirst: boolean): void {
  const paths = stand.index.paths.get(root);
  if (paths === undefined) return;
  const { current, previous = {} } = update;
  for (const indexed of paths) {
    const { path, ranges } = indexed;
    const isTop = path.length === 1;
    const value = isTop ? ownProperty(current, root) : readPath(current, path);
    const before = isFirst ? undefined : isTop ? ownProperty(previous, root) : readPath(previous, path);
    if (ranges !== undefined) compare(stand, ranges, value, before);
    const now = keyOf(value);
    const was = keyOf(before);
    if (isFirst || now !== was) turnOfEvent(stand, indexed, now, was, isFirst);
  }
}

/** An atom that names both values turns twice, which comes to nothing and costs less than to ask each atom. */
function turnOfEvent(stand: TriggerStand, indexed: IndexedPath, now: Key, was: Key, isFirst: boolean): void {
  const { byKey, others, butKey, missing } = indexed;
  if (byKey.size > 0) {
    for (const atom of byKey.get(was) ?? NONE) setAtom(stand, atom, false);
    for (const atom of byKey.get(now) ?? NONE) setAtom(stand, atom, true);
  }
  if (others.length > 0 && now === undefined) for (const atom of others) setAtom(stand, atom, false);
  else if (others.length > 0) {
    for (const atom of (was === undefined ? others : butKey.get(was)) ?? NONE) setAtom(stand, atom, true);
    for (const atom of butKey.get(now) ?? NONE) setAtom(stand, atom, false);
  }
  if (missing.length > 0 && (isFirst || (now === undefined) !== (was === undefined)))
    for (const atom of missing) setAtom(stand, atom, now === undefined);
}

const NONE: readonly number[] = [];

/** Between two numbers only those comparisons can turn whose bound lies between them. */
function compare(stand: TriggerStand, ranges: Ranges, now: unknown, was: unknown): void {
  const { bounds, atoms, by } = ranges;
  let from = 0;
  let last = bounds.length - 1;
  if (typeof now === 'number' && typeof was === 'number') {
    if (now === was) return;
    from = firstFrom(bounds, Math.min(now, was));
    const highest = Math.max(now, was);
    last = firstFrom(bounds, highest, true) - 1;
  }
  for (let at = from; at <= last; at++)
    setAtom(
      stand,
      atoms[at] as number,
      typeof now === 'number' && holds(by[at] as ConditionsComparison, now, bounds[at] as number),
    );
}

/** The first place whose bound is at least `value`; with `above`, more than it. */
function firstFrom(bounds: Float64Array, value: number, above = false): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const bound = bounds[middle] as number;
    if (bound < value || (above && bound === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function holds(by: ConditionsComparison, value: number, bound: number): boolean {
  switch (by) {
    case 'gt':
      return value > bound;
    case 'gte':
      return value >= bound;
    case 'lt':
      return value < bound;
    case 'lte':
      return value <= bound;
  }
}

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
function setAtom(stand: TriggerStand, atom: number, holds: boolean): void {
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
const CHANGED = 3;

/** Bit 1: it is in the list. Bit 0: it is not as it was before the update. */
function touch(stand: TriggerStand, trigger: number): void {
  const { flips } = stand;
  const flip = flips[trigger] as number;
  if (flip === 0) stand.touched[stand.touches++] = trigger;
  flips[trigger] = (flip ^ 1) | 2;
}
