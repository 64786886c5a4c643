import { deepEqual } from '../conditions/deep-equal.ts';
import type { PathSegment } from '../conditions/issue.ts';
import { fieldsOf } from '../conditions/maps/fields-of.ts';
import { readPath } from '../conditions/own-property.ts';
import { formatPath } from '../conditions/path.ts';
import { type Atom, atomsOf } from './atoms.ts';
import type { StateTrigger } from './state-trigger.ts';

type TestAtom = Extract<Atom, { kind: 'test' }>;

/** One field, with the atoms that want it to be a certain value. */
export interface IndexedPath {
  readonly path: readonly PathSegment[];
  /** Atoms by the key of a scalar that satisfies them. */
  readonly byKey: ReadonlyMap<string, readonly number[]>;
}

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
  /** The atoms that are looked at, by number; undefined for those that are found by value. */
  readonly testAtoms: readonly (TestAtom | undefined)[];
  /** Keys of each atom that is found by value. */
  readonly keys: readonly (ReadonlySet<string> | undefined)[];
  /** The triggers each atom is part of. */
  readonly users: readonly Int32Array[];
  /** How many atoms each trigger has. */
  readonly sizes: Uint16Array;
  /** Whether a field that an `on_change` trigger names changed; never for all others. */
  readonly named: readonly ((fields: {
    readonly current: unknown;
    readonly previous: unknown;
    readonly changed: readonly string[];
  }) => boolean)[];
}

export function createTriggerIndex(triggers: readonly StateTrigger[]): TriggerIndex {
  const paths = new Map<
    string,
    Map<string, { path: readonly PathSegment[]; byKey: Map<string, number[]> }>
  >();
  const tests = new Map<string, number[]>();
  const testAtoms: (TestAtom | undefined)[] = [];
  const keys: (ReadonlySet<string> | undefined)[] = [];
  const users: number[][] = [];
  const known = new Map<string, number>();
  const sizes = new Uint16Array(triggers.length);

  const addValue = (atom: Extract<Atom, { kind: 'value' }>): number => {
    const at = formatPath(atom.path);
    const name = JSON.stringify([at, [...atom.keys].sort()]);
    const shared = known.get(name);
    if (shared !== undefined) return shared;
    const number = users.length;
    known.set(name, number);
    users.push([]);
    keys.push(atom.keys);
    testAtoms.push(undefined);
    const root = String(atom.path[0]);
    const ofRoot = paths.get(root) ?? new Map();
    paths.set(root, ofRoot);
    const indexed = ofRoot.get(at) ?? { path: atom.path, byKey: new Map<string, number[]>() };
    ofRoot.set(at, indexed);
    for (const key of atom.keys) indexed.byKey.set(key, [...(indexed.byKey.get(key) ?? []), number]);
    return number;
  };
  const addTest = (atom: TestAtom): number => {
    const number = users.length;
    users.push([]);
    keys.push(undefined);
    testAtoms.push(atom);
    for (const field of atom.fields) {
      const list = tests.get(field);
      if (list === undefined) tests.set(field, [number]);
      else list.push(number);
    }
    return number;
  };

  for (const [place, trigger] of triggers.entries()) {
    const numbers = new Set(
      atomsOf(trigger).map((atom) => (atom.kind === 'value' ? addValue(atom) : addTest(atom))),
    );
    for (const number of numbers) users[number]?.push(place);
    sizes[place] = numbers.size;
  }
  return {
    triggers,
    paths: new Map([...paths].map(([root, ofRoot]) => [root, [...ofRoot.values()]])),
    tests,
    testAtoms,
    keys,
    users: users.map((list) => Int32Array.from(list)),
    sizes,
    named: triggers.map((trigger) => (trigger.fire === 'on_change' ? namedChange(trigger) : NEVER)),
  };
}

const NEVER = () => false;

/** Whether a field that the trigger names changed. */
function namedChange({ test }: StateTrigger): TriggerIndex['named'][number] {
  if (test.kind === 'opaque') {
    const { fields } = test;
    return ({ changed }) => changed.some((name) => fields.includes(name));
  }
  const uses = fieldsOf(test);
  return ({ current, previous, changed }) =>
    uses.some(
      ({ path }) =>
        changed.includes(String(path[0])) && !deepEqual(readPath(current, path), readPath(previous, path)),
    );
}
