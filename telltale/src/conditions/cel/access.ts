import { suggest } from '../../kernel/nearest.ts';
import { quote } from '../issue.ts';
import { isPlainObject, ownProperty } from '../own-property.ts';
import { Stop } from './stop.ts';
import { label, lift, MadeList, MadeMap, type Value } from './value.ts';

const MAX_KEYS_SHOWN = 20;

/** `of.key`, or undefined where `of` is a map without that key. Anything but a map is an error. */
export function findKey(of: Value, key: string): Value | undefined {
  if (of instanceof MadeMap) return of.entries.get(key);
  if (isPlainObject(of)) return lift(ownProperty(of, key));
  throw noKeys(of, key);
}

export function select(of: Value, key: string): Value {
  const value = findKey(of, key);
  if (value === undefined) throw noSuchKey(of, key);
  return value;
}

export function index(of: Value, at: Value): Value {
  if (typeof at === 'string') return select(of, at);
  const items = itemsOf(of);
  if (items === undefined) throw notIndexed(of, at);
  if (typeof at !== 'bigint') throw notIndexed(of, at);
  const value = at >= 0n && at < items.length ? itemAt(of, items, Number(at)) : undefined;
  if (value === undefined) throw outOfRange(at, items.length);
  return value;
}

/** The elements of a list as they are stored; undefined for anything else. */
export function itemsOf(of: Value): readonly unknown[] | undefined {
  if (of instanceof MadeList) return of.items;
  return Array.isArray(of) ? of : undefined;
}

/** Element `at` of `items`, which `itemsOf(of)` gave; a hole counts as null, as JSON has it. */
export function itemAt(of: Value, items: readonly unknown[], at: number): Value {
  const item = items[at];
  return of instanceof MadeList ? (item as Value) : (lift(item) ?? null);
}

export function keysOf(of: Value): readonly string[] | undefined {
  if (of instanceof MadeMap) return [...of.entries.keys()];
  return isPlainObject(of) ? Object.keys(of) : undefined;
}

const noSuchKey = (of: Value, key: string) =>
  new Stop('no_such_key', `There is no key ${quote(key)} here.`, () => {
    const known = (keysOf(of) ?? []).slice(0, MAX_KEYS_SHOWN);
    return `${suggest(key, known, 'Keys')} Test for a key that may be missing with has().`;
  });

function noKeys(of: Value, key: string): Stop {
  const hint = key === 'length' ? 'Use size().' : 'Only maps have keys.';
  return new Stop('wrong_type', `${quote(key)} was asked of ${label(of)}.`, hint);
}

const notIndexed = (of: Value, at: Value) =>
  new Stop(
    'wrong_type',
    `${label(of)} cannot be indexed with ${label(at)}.`,
    'A list takes an int, a map takes a string.',
  );

const outOfRange = (at: bigint, length: number) =>
  new Stop(
    'out_of_range',
    `Index ${at} is outside a list of ${length}.`,
    'Indexes run from 0 to size() - 1; test size() first.',
  );
