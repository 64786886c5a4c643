import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { outputTooLarge } from './output-limits.ts';

const MAX_DEPTH = 100;

interface Walk {
  readonly what: string;
  readonly maxBytes: number;
  bytes: number;
  /** The objects that the walk is inside of. */
  readonly open: object[];
}

/**
 * What a user's code returned, as plain JSON: undefined is null, `toJSON` counts (dates), a property that is undefined
 * is left out. What JSON would drop or change in silence (NaN, a Map, bytes, a Response, functions) is `bad_output`, with
 * the place.
 * `what` names the tool.
 */
export function plainJson(value: unknown, what: string, maxBytes: number): Json {
  const walk: Walk = { what, maxBytes, bytes: 0, open: [] };
  try {
    return copy(value, '', walk) ?? null;
  } catch (thrown) {
    if (thrown instanceof RuntimeError) throw thrown;
    throw unreadable(what, thrown); // a getter, a proxy or a toJSON that throws
  }
}

function copy(value: unknown, path: string, walk: Walk): Json | undefined {
  switch (typeof value) {
    case 'undefined':
      return undefined;
    case 'string':
      count(Buffer.byteLength(value) + 2, walk);
      return value;
    case 'boolean':
      count(5, walk);
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw notJson(walk.what, path, String(value));
      count(String(value).length, walk);
      return value;
    case 'bigint':
      throw notJson(walk.what, path, 'a BigInt', 'Return it as text: String(value).');
    case 'symbol':
    case 'function':
      throw notJson(walk.what, path, `a ${typeof value}`);
    case 'object':
      return value === null ? null : copyObject(value, path, walk);
  }
}

function copyObject(value: object, path: string, walk: Walk): Json | undefined {
  if (walk.open.includes(value)) throw notJson(walk.what, path, 'an object that holds itself');
  if (walk.open.length === MAX_DEPTH)
    throw notJson(walk.what, path, `nested deeper than ${MAX_DEPTH} levels`, 'Return a flatter value.');
  count(2, walk);
  walk.open.push(value);
  const copied = copyOpen(value, path, walk);
  walk.open.pop();
  return copied;
}

function copyOpen(value: object, path: string, walk: Walk): Json | undefined {
  if (Array.isArray(value)) {
    const list: Json[] = [];
    for (let index = 0; index < value.length; index++) {
      count(1, walk);
      list.push(copy(value[index], `${path}/${index}`, walk) ?? null);
    }
    return list;
  }
  const refused = refusal(value);
  if (refused !== undefined) throw notJson(walk.what, path, ...refused);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return copy(toJSON.call(value, ''), path, walk);
  const copied: Record<string, Json> = {};
  const keys = Object.keys(value);
  if (keys.length === 0 && !isPlain(value)) throw notJson(walk.what, path, ...hollow(value));
  for (const key of keys) {
    count(Buffer.byteLength(key) + 4, walk);
    const inner = copy((value as Readonly<Record<string, unknown>>)[key], `${path}/${key}`, walk);
    if (inner === undefined) continue;
    if (key === '__proto__') setOwn(copied, key, inner);
    else copied[key] = inner;
  }
  return copied;
}

/** A plain assignment would change what the object inherits from. */
const setOwn = (object: object, key: string, value: Json) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

type Refusal = readonly [found: string, hint?: string];

/** Objects that JSON would turn into `{}`, into null or into a list of numbers. */
function refusal(value: object): Refusal | undefined {
  if (isPlain(value)) return undefined;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return ['bytes', "Return them as text: Buffer.from(bytes).toString('base64')."];
  if (value instanceof Map) return ['a Map', 'Return Object.fromEntries(map).'];
  if (value instanceof Set) return ['a Set', 'Return [...set].'];
  if (value instanceof Promise) return ['a Promise', 'Await it first.'];
  if (value instanceof Error) return ['an Error', 'Throw it, so that the action fails.'];
  if (value instanceof RegExp) return ['a RegExp'];
  if (value instanceof Date && Number.isNaN(value.getTime())) return ['a Date that is none'];
  if (Symbol.asyncIterator in value)
    return ['a stream', 'Read it to its end: await Array.fromAsync(stream).'];
  return undefined;
}

/** What has nothing that JSON would show. */
function hollow(value: object): Refusal {
  if (value instanceof Response) return ['a Response', 'Return await response.json(), or response.text().'];
  if (Symbol.iterator in value) return ['an iterator', 'Return [...iterator].'];
  const { name } = (value.constructor as { readonly name?: unknown } | undefined) ?? {};
  return [`an object of ${typeof name === 'string' && name !== '' ? name : 'a class'} that JSON shows as {}`];
}

/** Also where it comes from another realm. */
function isPlain(value: object): boolean {
  const proto = Object.getPrototypeOf(value);
  return proto === null || Object.getPrototypeOf(proto) === null;
}

function count(bytes: number, walk: Walk): void {
  walk.bytes += bytes;
  if (walk.bytes > walk.maxBytes) throw outputTooLarge(walk.what, walk.maxBytes);
}

const notJson = (what: string, path: string, found: string, hint = 'Return plain JSON.') =>
  new RuntimeError('bad_output', `What ${what} returned is no JSON: ${place(path)} is ${found}.`, { hint });

const place = (path: string) =>
  path === '' ? 'it' : `"${path.length > 200 ? `${path.slice(0, 200)}…` : path}"`;

const unreadable = (what: string, cause: unknown) =>
  new RuntimeError('bad_output', `What ${what} returned cannot be read: reading a property of it throws.`, {
    hint: 'Return plain JSON.',
    cause,
  });
