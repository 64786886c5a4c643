import { lookUp } from './look-up.ts';
import type { FieldUpdate, Firing } from './state-trigger.ts';
import { FIRES_ON, type TriggerIndex } from './trigger-index.ts';
import { CHANGED, createTriggerStand, setAtom, type TriggerStand } from './trigger-stand.ts';

/** What conditions look at while nothing changes. */
export type Values = Pick<FieldUpdate, 'current' | 'beyond' | 'onProblem'>;

export interface StandValues extends Values {
  /** Whether there was an update. */
  readonly begun: boolean;
}

const unchanged = (values: Values): FieldUpdate => ({ ...values, previous: values.current, changed: [] });

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
export function lookAgain(stand: TriggerStand, values: Values): readonly Firing[] {
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
