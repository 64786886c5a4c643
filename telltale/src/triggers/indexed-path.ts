import type { PathSegment } from '../conditions/issue.ts';
import type { Comparison } from '../conditions/maps/conditions.ts';
import type { Atom, Scalar } from './atoms.ts';

type ValueAtom = Exclude<Atom, { kind: 'test' }>;

/** What stands for a list or an object where scalars are looked up: none of them. */
export const COMPOUND = Symbol('list or object');

/** A field's value as it is looked up; undefined where the field is missing. */
export type Key = Scalar | typeof COMPOUND | undefined;

export const keyOf = (value: unknown): Key =>
  typeof value === 'object' && value !== null ? COMPOUND : (value as Scalar | undefined);

/** Numbers that a field is compared with, in order, each with its atom. */
export interface Ranges {
  readonly bounds: Float64Array;
  readonly atoms: Int32Array;
  readonly by: readonly Comparison[];
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

export function createPathBuilder(path: readonly PathSegment[]): PathBuilder {
  const byKey = new Map<Key, number[]>();
  const butKey = new Map<Key, number[]>();
  const others: number[] = [];
  const missing: number[] = [];
  const ranges: { bound: number; by: Comparison; number: number }[] = [];
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
