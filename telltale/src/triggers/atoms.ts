import type { PathSegment } from '../conditions/issue.ts';
import type { Condition, FieldTest } from '../conditions/maps/conditions.ts';
import { fieldsOf } from '../conditions/maps/fields-of.ts';
import { type Fields, matches } from '../conditions/maps/matches.ts';
import type { StateTrigger } from './state-trigger.ts';

/**
 * The least that is looked at on its own: a condition is the conjunction of its atoms. Two triggers that ask the same
 * of the same field share one.
 */
export type Atom =
  /** One field is one of some scalars: found by the value, without looking at it. */
  | { readonly kind: 'value'; readonly path: readonly PathSegment[]; readonly keys: ReadonlySet<string> }
  /** Anything else: looked at when one of its fields changes. */
  | {
      readonly kind: 'test';
      /** Top-level names. */
      readonly fields: readonly string[];
      /** Whether it asks for a change: then it is looked at again in the update after one, when that is over. */
      readonly fleeting: boolean;
      holds(fields: Fields): boolean;
    };

/** A scalar as a key: values of different types are different. Undefined for what is no scalar, or missing. */
export function scalarKey(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return `s${value}`;
    case 'number':
      return `n${value === 0 ? 0 : value}`; // -0 equals 0
    case 'boolean':
      return value ? 't' : 'f';
    default:
      return value === null ? 'z' : undefined;
  }
}

/** The atoms of a trigger's test. */
export function atomsOf({ test }: StateTrigger): readonly Atom[] {
  if (test.kind === 'opaque')
    return [{ kind: 'test', fields: test.fields, fleeting: false, holds: (fields) => test.holds(fields) }];
  return conjuncts(test).map(atomOf);
}

/** `all` is a conjunction, and so is a nested map whose fields have to be certain values. */
function conjuncts(condition: Condition): readonly Condition[] {
  if (condition.kind === 'all') return condition.of.flatMap(conjuncts);
  if (condition.kind !== 'field' || condition.test.kind !== 'inside') return [condition];
  const { path } = condition;
  const inner = conjuncts(condition.test.condition);
  const flat = inner.flatMap((each): readonly Condition[] =>
    // A nested map is never a list: an index in it leads nowhere, and must not lead into a list here.
    each.kind === 'field' && typeof each.path[0] === 'string' && keysOf(each.test) !== undefined
      ? [{ ...each, path: [...path, ...each.path] }]
      : [],
  );
  return flat.length === inner.length ? flat : [condition];
}

function atomOf(condition: Condition): Atom {
  if (condition.kind === 'field') {
    const keys = keysOf(condition.test);
    if (keys !== undefined) return { kind: 'value', path: condition.path, keys };
  }
  const uses = fieldsOf(condition);
  return {
    kind: 'test',
    fields: [...new Set(uses.map(({ path }) => String(path[0])))],
    fleeting: uses.some(({ change }) => change),
    holds: (fields) => matches(condition, fields),
  };
}

/** The scalars a test is satisfied by, if that is all it asks. */
function keysOf(test: FieldTest): ReadonlySet<string> | undefined {
  const keys = new Set<string>();
  const add = (value: unknown): boolean => {
    const key = scalarKey(value);
    if (key === undefined) return false;
    keys.add(key);
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
