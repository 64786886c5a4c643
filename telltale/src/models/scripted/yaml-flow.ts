import type { Json, JsonObject } from '../../kernel/json.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { doubleQuoted } from './yaml-text.ts';

/** A map that is written on one line is read by people up to here; longer ones stay the text they were. */
const MAX_VALUES = 200;
const MAX_DEPTH = 12;
/** YAML wants the key and the colon of a line close together. */
const MAX_KEY = 128;

/** What manifests refuse as a key, since it reaches into prototypes. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const PLAIN_KEY = /^(?!(?:true|false|null)$)[a-z_][a-z0-9_]*$/i;

export interface Flow {
  readonly text: string;
  /** Lists, maps and scalars in it. */
  readonly values: number;
}

/**
 * An object as a YAML value on one line, read back as it was: `{ query: "x", top: 3 }`. Undefined where a reader of
 * manifests would refuse it, or where it is too large to be read by people. Pure.
 */
export function yamlFlow(object: JsonObject): Flow | undefined {
  let values = 0;
  const write = (value: Json, depth: number): string | undefined => {
    if (++values > MAX_VALUES || depth > MAX_DEPTH) return undefined;
    if (typeof value === 'string') return doubleQuoted(value);
    if (typeof value === 'number') return isPlainNumber(value) ? String(value) : undefined;
    if (value === null || typeof value === 'boolean') return String(value);
    if (!isMap(value))
      return joined(
        '[',
        (value as readonly Json[]).map((item) => write(item, depth + 1)),
        ']',
      );
    return joined(
      '{',
      Object.entries(value).map(([key, item]) => {
        const [name, written] = [keyOf(key), write(item, depth + 1)];
        return name === undefined || written === undefined ? undefined : `${name}: ${written}`;
      }),
      '}',
    );
  };
  const text = write(object, 1);
  return text === undefined ? undefined : { text, values };
}

/** Not what JSON cannot hold, and no whole number that may have lost its last digits. */
const isPlainNumber = (value: number): boolean =>
  Number.isFinite(value) &&
  !Object.is(value, -0) &&
  (!Number.isInteger(value) || Number.isSafeInteger(value));

const keyOf = (key: string): string | undefined => {
  if (key.length > MAX_KEY || FORBIDDEN_KEYS.has(key)) return undefined;
  return PLAIN_KEY.test(key) ? key : doubleQuoted(key);
};

function joined(open: string, items: readonly (string | undefined)[], close: string): string | undefined {
  if (items.includes(undefined)) return undefined;
  return items.length === 0 ? open + close : `${open} ${items.join(', ')} ${close}`;
}
