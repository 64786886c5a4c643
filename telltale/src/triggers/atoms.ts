import type { PathSegment } from '../conditions/issue.ts';
import type { Comparison, Condition, FieldTest } from '../conditions/maps/conditions.ts';
import { fieldsOf } from '../conditions/maps/fields-of.ts';
import { matches } from '../conditions/maps/matches.ts';
import type { FieldUpdate, StateTrigger } from './state-trigger.ts';

/** A scalar as JSON has them. A Map tells them apart as conditions do: `1` from `"1"`, and -0 is 0. */
export type Scalar = string | number | boolean | null;

type Path = readonly PathSegment[];

/**
 * The least that is looked at on its own: a condition is the conjunction of its atoms. Two triggers that ask the same
 * of the same field share one. All but `test` are found by the field's value, without looking at each.
 */
export type Atom =
  /** The field is one of these. */
  | { readonly kind: 'value'; readonly path: Path; readonly keys: ReadonlySet<Scalar> }
  /** The field is there, and none of these. */
  | { readonly kind: 'other'; readonly path: Path; readonly keys: ReadonlySet<Scalar> }
  | { readonly kind: 'missing'; readonly path: Path }
  /** The field is a number that compares so. */
  | { readonly kind: 'range'; readonly path: Path; readonly by: Comparison; readonly with: number }
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
export function atomsOf({ test }: StateTrigger): readonly Atom[] {
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
function demandsPresence(path: Path, test: FieldTest): boolean {
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
function byValue(path: Path, test: FieldTest): Exclude<Atom, { kind: 'test' }> | undefined {
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
