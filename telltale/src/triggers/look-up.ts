import type { Comparison } from '../conditions/maps/conditions.ts';
import { ownProperty, readPath } from '../conditions/own-property.ts';
import { type IndexedPath, type Key, keyOf, type Ranges } from './indexed-path.ts';
import type { FieldUpdate } from './state-trigger.ts';
import { setAtom, type TriggerStand } from './trigger-stand.ts';

/** Finds the atoms that the new values of a top-level field satisfy, and those that the old ones did. */
export function lookUp(stand: TriggerStand, root: string, update: FieldUpdate, isFirst: boolean): void {
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
    if (isFirst || now !== was) turn(stand, indexed, now, was, isFirst);
  }
}

/** An atom that names both values turns twice, which comes to nothing and costs less than to ask each atom. */
function turn(stand: TriggerStand, indexed: IndexedPath, now: Key, was: Key, isFirst: boolean): void {
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
      typeof now === 'number' && holds(by[at] as Comparison, now, bounds[at] as number),
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

function holds(by: Comparison, value: number, bound: number): boolean {
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
