import { suggest } from '../../lib/nearest.ts';
import { quote } from '../issue.ts';
import { isPlainObject, ownProperty } from '../values.ts';
import { LimitsStop, notData } from './limits.ts';

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
  new LimitsStop('no_such_key', `There is no key ${quote(key)} here.`, () => {
    const known = (keysOf(of) ?? []).slice(0, MAX_KEYS_SHOWN);
    return `${suggest(key, known, 'Keys')} Test for a key that may be missing with has().`;
  });

function noKeys(of: Value, key: string): LimitsStop {
  const hint = key === 'length' ? 'Use size().' : 'Only maps have keys.';
  return new LimitsStop('wrong_type', `${quote(key)} was asked of ${label(of)}.`, hint);
}

const notIndexed = (of: Value, at: Value) =>
  new LimitsStop(
    'wrong_type',
    `${label(of)} cannot be indexed with ${label(at)}.`,
    'A list takes an int, a map takes a string.',
  );

const outOfRange = (at: bigint, length: number) =>
  new LimitsStop(
    'out_of_range',
    `Index ${at} is outside a list of ${length}.`,
    'Indexes run from 0 to size() - 1; test size() first.',
  );

/**
 * What an expression computes with. Lists and objects of the context are used where they stand, never copied; a
 * number read from them becomes an int if it is a safe integer, else it is a double (`lift`). What an expression
 * itself makes is a MadeList or a MadeMap, whose numbers are lifted already.
 */
export type Value =
  | null
  | boolean
  | string
  /** int */
  | bigint
  /** double */
  | number
  | readonly unknown[]
  | Readonly<Record<string, unknown>>
  | MadeList
  | MadeMap
  | Timestamp
  | Duration
  | TypeValue;

export class MadeList {
  readonly items: readonly Value[];
  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

export class MadeMap {
  readonly entries: ReadonlyMap<string, Value>;
  constructor(entries: ReadonlyMap<string, Value>) {
    this.entries = entries;
  }
}

export class Timestamp {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
}

export class Duration {
  readonly ms: number;
  constructor(ms: number) {
    this.ms = ms;
  }
}

/** What `type(x)` gives, and what the bare names of types (`string`, `list`, …) stand for. */
export class TypeValue {
  readonly name: TypeName;
  constructor(name: TypeName) {
    this.name = name;
  }
}

export const TYPE_NAMES = [
  'null_type',
  'bool',
  'string',
  'int',
  'double',
  'list',
  'map',
  'timestamp',
  'duration',
  'type',
] as const;
export type TypeName = (typeof TYPE_NAMES)[number];

/** A value of the context as an expression sees it; undefined (missing) stays undefined. */
export function lift(value: unknown): Value | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'string':
    case 'boolean':
    case 'bigint':
    case 'undefined':
      return value;
    case 'object':
      if (value === null || Array.isArray(value) || isPlainObject(value)) return value;
      throw notData('an instance of a class');
    default:
      throw notData(`a ${typeof value}`);
  }
}

export function typeOf(value: Value): TypeName {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    default:
      if (value === null) return 'null_type';
      if (Array.isArray(value) || value instanceof MadeList) return 'list';
      if (value instanceof Timestamp) return 'timestamp';
      if (value instanceof Duration) return 'duration';
      if (value instanceof TypeValue) return 'type';
      return 'map';
  }
}

const TYPE_LABELS = {
  null_type: 'null',
  bool: 'a boolean',
  string: 'a string',
  int: 'an int',
  double: 'a double',
  list: 'a list',
  map: 'a map',
  timestamp: 'a timestamp',
  duration: 'a duration',
  type: 'a type',
} as const satisfies Record<TypeName, string>;

/** The type of `value` as a message names it. */
export const label = (value: Value): string => TYPE_LABELS[typeOf(value)];
