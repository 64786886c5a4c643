import type { PathSegment } from '../expressions/issue.ts';
import {
  type Condition,
  type ConditionsComparison,
  type FieldTest,
  fieldsOf,
  matches,
} from '../expressions/maps/conditions.ts';
import { formatPath } from '../expressions/path.ts';
import { deepEqual, readPath } from '../expressions/values.ts';
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

type ValueAtom = Exclude<Atom, { kind: 'test' }>;

/** What stands for a list or an object where scalars are looked up: none of them. */
const COMPOUND = Symbol('list or object');

/** A field's value as it is looked up; undefined where the field is missing. */
export type Key = Scalar | typeof COMPOUND | undefined;

export const keyOf = (value: unknown): Key =>
  typeof value === 'object' && value !== null ? COMPOUND : (value as Scalar | undefined);

/** Numbers that a field is compared with, in order, each with its atom. */
export interface Ranges {
  readonly bounds: Float64Array;
  readonly atoms: Int32Array;
  readonly by: readonly ConditionsComparison[];
}

/** One field, with the atoms that are found by its value. */
export interface IndexedPath {
  readonly path: readonly PathSegment[];
  /** Atoms by a value that satisfies them. */
  readonly byKey: ReadonlyMap<Key, readonly number[]>;
  /** Atoms that any value satisfies but those they name, and those by such a value. */
  readonly others: readonly number[];
  readonly butKey: ReadonlyMap<Key, readonly number[]>;
  readonly missing: readonly number[];
  readonly ranges: Ranges | undefined;
}

/** Collects the atoms of one field. */
export interface PathBuilder {
  add(atom: ValueAtom, number: number): void;
  build(): IndexedPath;
}

function createPathBuilder(path: readonly PathSegment[]): PathBuilder {
  const byKey = new Map<Key, number[]>();
  const butKey = new Map<Key, number[]>();
  const others: number[] = [];
  const missing: number[] = [];
  const ranges: { bound: number; by: ConditionsComparison; number: number }[] = [];
  const put = (map: Map<Key, number[]>, keys: Iterable<Key>, number: number) => {
    for (const key of keys) {
      const list = map.get(key);
      if (list === undefined) map.set(key, [number]);
      else list.push(number);
    }
  };
  return {
    add(atom, number) {
      switch (atom.kind) {
        case 'value':
          put(byKey, atom.keys, number);
          return;
        case 'other':
          others.push(number);
          put(butKey, atom.keys, number);
          return;
        case 'missing':
          missing.push(number);
          return;
        case 'range':
          ranges.push({ bound: atom.with, by: atom.by, number });
          return;
      }
    },
    build() {
      ranges.sort((a, b) => a.bound - b.bound);
      return {
        path,
        byKey,
        others,
        butKey,
        missing,
        ranges:
          ranges.length === 0
            ? undefined
            : {
                bounds: Float64Array.from(ranges, ({ bound }) => bound),
                atoms: Int32Array.from(ranges, ({ number }) => number),
                by: ranges.map(({ by }) => by),
              },
      };
    },
  };
}

/** A scalar as JSON has them. A Map tells them apart as conditions do: `1` from `"1"`, and -0 is 0. */
export type Scalar = string | number | boolean | null;

type TriggerIndexPath = readonly PathSegment[];

/**
 * The least that is looked at on its own: a condition is the conjunction of its atoms. Two triggers that ask the same
 * of the same field share one. All but `test` are found by the field's value, without looking at each.
 */
export type Atom =
  /** The field is one of these. */
  | { readonly kind: 'value'; readonly path: TriggerIndexPath; readonly keys: ReadonlySet<Scalar> }
  /** The field is there, and none of these. */
  | { readonly kind: 'other'; readonly path: TriggerIndexPath; readonly keys: ReadonlySet<Scalar> }
  | { readonly kind: 'missing'; readonly path: TriggerIndexPath }
  /** The field is a number that compares so. */
  | {
      readonly kind: 'range';
      readonly path: TriggerIndexPath;
      readonly by: ConditionsComparison;
      readonly with: number;
    }
  /** Anything else: looked at when one of its fields changes. */
  | {
      readonly kind: 'test';
      /** What makes it one with others; undefined where it is like no other. */
      readonly name?: string;
      /** Top-level names. */
      readonly fields: readonly string[] | 'all';
      readonly readsBeyond: boolean;
      /** Whether it asks for a change: that is over as soon as the update is. */
      readonly fleeting: boolean;
      holds(update: FieldUpdate): boolean;
    };

/** The atoms of a trigger's test. */
function atomsOf({ test }: StateTrigger): readonly Atom[] {
  if (test.kind === 'opaque')
    return [
      {
        kind: 'test',
        fields: test.fields,
        readsBeyond: test.readsBeyond === true,
        fleeting: false,
        holds: (update) => test.holds(update),
      },
    ];
  return conjuncts(test).map(atomOf);
}

/** `all` is a conjunction, and so are several operators on one field, and a nested map whose fields have to be there. */
function conjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind === 'all') return condition.of.flatMap(conjuncts);
  if (condition.kind !== 'field') return [condition];
  const { path, test } = condition;
  if (test.kind === 'every')
    return test.tests.flatMap((each) => conjuncts({ kind: 'field', path, test: each }));
  if (test.kind !== 'inside') return [condition];
  const inner = conjuncts(test.condition);
  const flat = inner.flatMap((each): readonly Condition[] =>
    // A nested map is never a list: an index in it leads nowhere, and must not lead into a list here.
    each.kind === 'field' && typeof each.path[0] === 'string' && demandsPresence(each.path, each.test)
      ? [{ ...each, path: [...path, ...each.path] }]
      : [],
  );
  return flat.length === inner.length ? flat : [condition];
}

/** Whether the field has to be there, and with it the map that it stands in. */
function demandsPresence(path: TriggerIndexPath, test: FieldTest): boolean {
  const kind = byValue(path, test)?.kind;
  return kind !== undefined && kind !== 'missing';
}

function atomOf(condition: Condition): Atom {
  const found = condition.kind === 'field' ? byValue(condition.path, condition.test) : undefined;
  if (found !== undefined) return found;
  const uses = fieldsOf(condition);
  return {
    kind: 'test',
    name: JSON.stringify(condition, (_, value) =>
      // A compiled pattern is a tree of tables; its source says all of it.
      typeof value === 'object' && typeof value?.test === 'function' ? value.source : value,
    ),
    fields: [...new Set(uses.map(({ path }) => String(path[0])))],
    readsBeyond: false,
    fleeting: uses.some(({ change }) => change),
    holds: (update) => matches(condition, update),
  };
}

/** The test as an atom that is found by value, if it is one. */
function byValue(path: TriggerIndexPath, test: FieldTest): Exclude<Atom, { kind: 'test' }> | undefined {
  const keys = keysOf(test);
  if (keys !== undefined) return { kind: 'value', path, keys };
  if (test.kind === 'exists')
    return test.is ? { kind: 'other', path, keys: new Set() } : { kind: 'missing', path };
  if (test.kind === 'compare')
    return typeof test.with === 'number' ? { kind: 'range', path, by: test.by, with: test.with } : undefined;
  if (test.kind !== 'not') return undefined;
  const unwanted = keysOf(test.test);
  return unwanted === undefined ? undefined : { kind: 'other', path, keys: unwanted };
}

/** The scalars a test is satisfied by, if that is all it asks. */
function keysOf(test: FieldTest): ReadonlySet<Scalar> | undefined {
  const keys = new Set<Scalar>();
  const add = (value: unknown): boolean => {
    if (value !== null && typeof value === 'object') return false;
    keys.add(value as Scalar);
    return true;
  };
  switch (test.kind) {
    case 'equals':
      return add(test.value) ? keys : undefined;
    case 'in':
      return test.values.every(add) ? keys : undefined;
    case 'any_of':
      return test.tests.every((each) => each.kind === 'equals' && add(each.value)) ? keys : undefined;
    default:
      return undefined;
  }
}
