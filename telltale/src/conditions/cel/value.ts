import { isPlainObject } from '../own-property.ts';
import { notData } from './stop.ts';

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
