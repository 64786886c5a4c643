import { RuntimeError, thrownPlace, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';

const MAX_DEPTH = 100;

interface CopyState {
  readonly what: string;
  readonly maxBytes: number;
  bytes: number;
  /** The objects that contain the present one. */
  readonly open: object[];
}

/**
 * Converts the return value of a user's code to plain JSON: undefined becomes null, `toJSON` is called (dates), and
 * undefined properties are left out. Values that JSON would silently drop or change (NaN, a Map, bytes, a Response,
 * functions) throw `bad_output` with their location. `what` names the tool.
 */
export function plainJson(value: unknown, what: string, maxBytes: number): Json {
  const walk: CopyState = { what, maxBytes, bytes: 0, open: [] };
  try {
    return copy(value, '', walk) ?? null;
  } catch (thrown) {
    if (thrown instanceof RuntimeError) throw thrown;
    throw unreadable(what, thrown); // a getter, a proxy or a toJSON that throws
  }
}

function copy(value: unknown, path: string, walk: CopyState): Json | undefined {
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

function copyObject(value: object, path: string, walk: CopyState): Json | undefined {
  if (walk.open.includes(value)) throw notJson(walk.what, path, 'an object that holds itself');
  if (walk.open.length === MAX_DEPTH)
    throw notJson(walk.what, path, `nested deeper than ${MAX_DEPTH} levels`, 'Return a flatter value.');
  count(2, walk);
  walk.open.push(value);
  const copied = copyOpen(value, path, walk);
  walk.open.pop();
  return copied;
}

function copyOpen(value: object, path: string, walk: CopyState): Json | undefined {
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
  if (keys.length === 0 && !isPlain(value)) throw notJson(walk.what, path, ...emptyInJson(value));
  for (const key of keys) {
    count(Buffer.byteLength(key) + 4, walk);
    const inner = copy((value as Readonly<Record<string, unknown>>)[key], `${path}/${key}`, walk);
    if (inner === undefined) continue;
    if (key === '__proto__') setOwn(copied, key, inner);
    else copied[key] = inner;
  }
  return copied;
}

/** A plain assignment would change the object's prototype. */
const setOwn = (object: object, key: string, value: Json) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

type OutputRefusal = readonly [found: string, hint?: string];

/** Objects that JSON would turn into `{}`, null or a list of numbers. */
function refusal(value: object): OutputRefusal | undefined {
  if (isPlain(value)) return undefined;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return ['bytes', "Return them as text: Buffer.from(bytes).toString('base64')."];
  if (value instanceof Map) return ['a Map', 'Return Object.fromEntries(map).'];
  if (value instanceof Set) return ['a Set', 'Return [...set].'];
  if (value instanceof Promise) return ['a Promise', 'Await it first.'];
  if (value instanceof Error) return ['an Error', 'Throw it, so that the action fails.'];
  if (value instanceof RegExp) return ['a RegExp'];
  if (value instanceof Date && Number.isNaN(value.getTime())) return ['an invalid Date'];
  if (Symbol.asyncIterator in value)
    return ['a stream', 'Read it to its end: await Array.fromAsync(stream).'];
  return undefined;
}

/** Objects without any properties that JSON would show. */
function emptyInJson(value: object): OutputRefusal {
  if (value instanceof Response) return ['a Response', 'Return await response.json(), or response.text().'];
  if (Symbol.iterator in value) return ['an iterator', 'Return [...iterator].'];
  const { name } = (value.constructor as { readonly name?: unknown } | undefined) ?? {};
  return [`an object of ${typeof name === 'string' && name !== '' ? name : 'a class'} that JSON shows as {}`];
}

/** Also true for plain objects of another JavaScript realm. */
function isPlain(value: object): boolean {
  const proto = Object.getPrototypeOf(value);
  return proto === null || Object.getPrototypeOf(proto) === null;
}

function count(bytes: number, walk: CopyState): void {
  walk.bytes += bytes;
  if (walk.bytes > walk.maxBytes) throw outputTooLarge(walk.what, walk.maxBytes);
}

const notJson = (what: string, path: string, found: string, hint = 'Return plain JSON.') =>
  new RuntimeError('bad_output', `What ${what} returned is not JSON: ${place(path)} is ${found}.`, {
    hint,
  });

const place = (path: string) =>
  path === '' ? 'it' : `"${path.length > 200 ? `${path.slice(0, 200)}…` : path}"`;

const unreadable = (what: string, cause: unknown) =>
  new RuntimeError(
    'bad_output',
    `What ${what} returned cannot be read, because one of its properties throws.`,
    {
      hint: 'Return plain JSON.',
      cause,
    },
  );

/** The beginning and the end of a byte stream of any length. */
export interface BoundedOutput {
  push(chunk: Uint8Array): void;
  /** All bytes received, kept or not. */
  readonly total: number;
  /** The bytes that were not kept. */
  readonly dropped: number;
  /** As UTF-8. If bytes were dropped, a line says how many. */
  text(): string;
}

const FIRST_ALLOCATION = 4096;

/** Keeps at most `maxBytes`, half of them from the end. */
export function createBoundedOutput(maxBytes: number): BoundedOutput {
  const headBytes = Math.ceil(maxBytes / 2);
  const tailBytes = maxBytes - headBytes;
  let head = Buffer.alloc(0);
  let headSize = 0;
  /** A ring buffer: the next byte goes to `at`. Allocated once the head is full. */
  let ring = Buffer.alloc(0);
  let at = 0;
  let total = 0;

  const pushHead = (part: Uint8Array) => {
    if (headSize + part.length > head.length) {
      const size = Math.max(headSize + part.length, 2 * head.length, FIRST_ALLOCATION);
      head = Buffer.concat([head.subarray(0, headSize)], Math.min(size, headBytes));
    }
    head.set(part, headSize);
    headSize += part.length;
  };
  const pushTail = (part: Uint8Array) => {
    if (tailBytes === 0) return;
    if (ring.length === 0) ring = Buffer.alloc(tailBytes);
    const last = part.subarray(Math.max(0, part.length - tailBytes));
    const upToEnd = last.subarray(0, tailBytes - at);
    ring.set(upToEnd, at);
    ring.set(last.subarray(upToEnd.length), 0);
    at = (at + last.length) % tailBytes;
  };

  return {
    push(chunk) {
      total += chunk.length;
      const room = headBytes - headSize;
      if (room > 0) pushHead(chunk.subarray(0, room));
      if (chunk.length > room) pushTail(chunk.subarray(room));
    },
    get total() {
      return total;
    },
    get dropped() {
      return Math.max(0, total - maxBytes);
    },
    text() {
      const first = head.subarray(0, headSize);
      if (total <= maxBytes)
        return Buffer.concat([first, ring.subarray(0, total - headSize)]).toString('utf8');
      const last = Buffer.concat([ring.subarray(at), ring.subarray(0, at)]);
      const before = first.subarray(0, wholeCharacters(first)).toString('utf8');
      const after = last.subarray(firstCharacter(last)).toString('utf8');
      return `${before}\n… [${total - maxBytes} bytes left out] …\n${after}`;
    },
  };
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the last complete character ends. Its first UTF-8 byte tells its length. */
function wholeCharacters(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > 0 && start > bytes.length - 4 && isContinuation(bytes[start])) start--;
  const first = bytes[start] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? start : bytes.length;
}

function firstCharacter(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return start;
}

/** The limit of a result if the tool sets no `output.max_bytes`. */
export const DEFAULT_OUTPUT_BYTES = 1024 * 1024;

/** `what` names the tool: `tool "search"`. */
export const outputTooLarge = (what: string, maxBytes: number) =>
  new RuntimeError('output_too_large', `The result of ${what} has more than ${maxBytes} bytes.`, {
    hint: 'Ask for less, or raise "output: { max_bytes }" of the tool.',
  });

const MAX_MESSAGE = 2_000;

/** The message of whatever user code threw. Never throws, whatever the value does when it is read. */
export function thrownMessage(thrown: unknown): string {
  try {
    const { message } = toRuntimeError(thrown);
    const text = typeof thrown === 'string' ? thrown : String(message);
    return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
  } catch {
    return 'something that cannot be read was thrown';
  }
}

/** The thrown value as the cause of an error that will be logged. Undefined if it cannot be serialized. */
function safeCause(thrown: unknown): unknown {
  try {
    JSON.stringify(new RuntimeError('internal', '', { cause: thrown }));
    return thrown;
  } catch {
    return undefined;
  }
}

/**
 * The cause with the place it was thrown at as its hint, for whoever reads the log. The model only sees the outermost
 * error.
 */
export function causeWithPlace(thrown: unknown): unknown {
  const found = safeCause(thrown);
  const place = thrownPlace(found);
  if (place === undefined || found instanceof RuntimeError) return found;
  const { message, cause } = toRuntimeError(found);
  return new RuntimeError('internal', message, { hint: `Thrown at ${place}.`, cause });
}
