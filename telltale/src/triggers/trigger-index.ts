import { deepEqual } from '../conditions/deep-equal.ts';
import { fieldsOf } from '../conditions/maps/fields-of.ts';
import { readPath } from '../conditions/own-property.ts';
import { formatPath } from '../conditions/path.ts';
import { type Atom, atomsOf } from './atoms.ts';
import { createPathBuilder, type IndexedPath, type PathBuilder } from './indexed-path.ts';
import type { FieldUpdate, StateTrigger } from './state-trigger.ts';

type TestAtom = Extract<Atom, { kind: 'test' }>;

/**
 * Triggers on one set of fields, taken apart once for all sessions of an agent: by field and value, so that an update
 * costs what it changes and not what there is.
 */
export interface TriggerIndex {
  readonly triggers: readonly StateTrigger[];
  /** By top-level field. */
  readonly paths: ReadonlyMap<string, readonly IndexedPath[]>;
  /** Atoms to look at when a top-level field changes. */
  readonly tests: ReadonlyMap<string, readonly number[]>;
  /** Atoms to look at in every update. */
  readonly always: readonly number[];
  /** Atoms to look at when something beside the fields changes. */
  readonly beyond: readonly number[];
  /** The atoms that are looked at, by number; undefined for those that are found by value. */
  readonly testAtoms: readonly (TestAtom | undefined)[];
  /** The triggers that atoms are part of: those of an atom stand from `usersFrom` up to `usersTo`. */
  readonly users: Int32Array;
  readonly usersFrom: Int32Array;
  readonly usersTo: Int32Array;
  /** `FIRES_ON` bits of each trigger: side by side, since an update reads those of many. */
  readonly modes: Uint8Array;
  /** How many atoms each trigger has. */
  readonly sizes: Uint16Array;
  /** Whether a field that an `on_change` trigger names changed; never for all others. */
  readonly named: readonly ((update: FieldUpdate) => boolean)[];
}

/** When a trigger tells of itself, in bits. */
export const FIRES_ON = { enter: 1, exit: 2, stay: 4 } as const;

export function createTriggerIndex(triggers: readonly StateTrigger[]): TriggerIndex {
  const paths = new Map<string, Map<string, PathBuilder>>();
  const tests = new Map<string, number[]>();
  const always: number[] = [];
  const beyond: number[] = [];
  const testAtoms: (TestAtom | undefined)[] = [];
  const users: number[][] = [];
  const known = new Map<string, number>();
  const sizes = new Uint16Array(triggers.length);

  const numberOf = (atom: Atom): number => {
    const name = nameOf(atom);
    const shared = name === undefined ? undefined : known.get(name);
    if (shared !== undefined) return shared;
    const number = users.length;
    if (name !== undefined) known.set(name, number);
    users.push([]);
    testAtoms.push(atom.kind === 'test' ? atom : undefined);
    if (atom.kind === 'test') addTest(atom, number);
    else builderOf(atom.path).add(atom, number);
    return number;
  };
  const builderOf = (path: IndexedPath['path']): PathBuilder => {
    const root = String(path[0]);
    const at = formatPath(path);
    const ofRoot = paths.get(root) ?? new Map<string, PathBuilder>();
    paths.set(root, ofRoot);
    const builder = ofRoot.get(at) ?? createPathBuilder(path);
    ofRoot.set(at, builder);
    return builder;
  };
  const addTest = (atom: TestAtom, number: number) => {
    if (atom.readsBeyond) beyond.push(number);
    if (atom.fields === 'all') {
      always.push(number);
      return;
    }
    for (const field of atom.fields) {
      const list = tests.get(field);
      if (list === undefined) tests.set(field, [number]);
      else list.push(number);
    }
  };

  for (const [place, trigger] of triggers.entries()) {
    const numbers = new Set(atomsOf(trigger).map(numberOf));
    for (const number of numbers) users[number]?.push(place);
    sizes[place] = numbers.size;
  }
  const built = new Map(
    [...paths].map(([root, ofRoot]) => [root, [...ofRoot.values()].map((each) => each.build())]),
  );
  return {
    triggers,
    paths: built,
    tests,
    always,
    beyond,
    testAtoms,
    ...layOut(users, built),
    modes: Uint8Array.from(triggers, modeOf),
    sizes,
    named: triggers.map((trigger) => (trigger.fire === 'on_change' ? namedChange(trigger) : NEVER)),
  };
}

/** Comparisons come first, in the order of their bounds: those that turn together are read in one sweep. */
function layOut(
  users: readonly (readonly number[])[],
  paths: ReadonlyMap<string, readonly IndexedPath[]>,
): Pick<TriggerIndex, 'users' | 'usersFrom' | 'usersTo'> {
  const compared = [...paths.values()].flat().flatMap(({ ranges }) => [...(ranges?.atoms ?? [])]);
  const order = new Set([...compared, ...users.keys()]);
  const laid = new Int32Array(users.reduce((sum, list) => sum + list.length, 0));
  const usersFrom = new Int32Array(users.length);
  const usersTo = new Int32Array(users.length);
  let at = 0;
  for (const atom of order) {
    const list = users[atom] ?? [];
    laid.set(list, at);
    usersFrom[atom] = at;
    at += list.length;
    usersTo[atom] = at;
  }
  return { users: laid, usersFrom, usersTo };
}

function modeOf({ fire, watchesExit }: StateTrigger): number {
  const enter = fire === 'on_exit' ? 0 : FIRES_ON.enter;
  const exit = fire === 'on_exit' || watchesExit === true ? FIRES_ON.exit : 0;
  const stay = fire === 'on_change' || fire === 'on_update' ? FIRES_ON.stay : 0;
  return enter | exit | stay;
}

/** Atoms of the same name are one. Undefined where it is like no other. */
function nameOf(atom: Atom): string | undefined {
  switch (atom.kind) {
    case 'test':
      return atom.name;
    case 'missing':
      return JSON.stringify([atom.kind, formatPath(atom.path)]);
    case 'range':
      return JSON.stringify([atom.kind, formatPath(atom.path), atom.by, atom.with]);
    case 'value':
    case 'other':
      return JSON.stringify([
        atom.kind,
        formatPath(atom.path),
        [...atom.keys].map((key) => JSON.stringify(key)).sort(),
      ]);
  }
}

const NEVER = () => false;

/** Whether a field that the trigger names changed. */
function namedChange({ test }: StateTrigger): (update: FieldUpdate) => boolean {
  if (test.kind === 'opaque') {
    const { fields } = test;
    if (fields === 'all') return ({ changed }) => changed.length > 0;
    return ({ changed }) => changed.some((name) => fields.includes(name));
  }
  const uses = fieldsOf(test);
  return ({ current, previous, changed }) =>
    uses.some(
      ({ path }) =>
        changed.includes(String(path[0])) && !deepEqual(readPath(current, path), readPath(previous, path)),
    );
}
