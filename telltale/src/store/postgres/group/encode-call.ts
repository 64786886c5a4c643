import { createHash } from 'node:crypto';
import type { AppendOp, WriteRequest } from '../../grouped/messages.ts';
import { MAX_INBOX_MESSAGES } from '../../store-errors.ts';

/** Separates the bodies of a call. JSON never holds it as it is; a body that does goes another way. */
const SEPARATOR = '\x1e';

/** A write of a call, with its place in the group. */
export interface PlacedWrite {
  readonly place: number;
  readonly write: Write;
}

/** A stream that is made, and its first append where that is a plain one. */
interface Birth {
  readonly request: Extract<WriteRequest, { readonly op: 'create' }>;
  readonly first: AppendOp | null;
}

/** What `write_group` is called with, from `p_locks` on, and what its answers are about. */
export interface EncodedCall {
  readonly values: readonly unknown[];
  /** Places of the group by place in `made` and in the appends. */
  readonly births: readonly number[];
  readonly appends: readonly PlacedWrite[];
  /** Whether it writes streams, for which an owner is needed that is not taken for dead. */
  readonly owns: boolean;
}

type Op = Readonly<Record<string, unknown>>;

export function encodeCall(writes: readonly PlacedWrite[], schema: string): EncodedCall {
  const births = new Map<number, Birth>();
  const perStream = new Map<number, number>();
  const apart = new Set<number>();
  for (const { place, write } of writes) {
    if (!isAppend(write)) {
      if (write.op !== 'create') continue;
      const { first } = write;
      const goesAlong = first !== null && isPlain(first) && first[6] === null;
      births.set(place, { request: write, first: goesAlong ? first : null });
      continue;
    }
    const [stream] = write;
    const seen = perStream.get(stream) ?? 0;
    perStream.set(stream, seen + 1);
    // To one that is made in the same call: its number is not known here.
    if (!isPlain(write) || seen > 0 || stream < 0) apart.add(stream);
  }
  const appends: PlacedWrite[] = [];
  const ops: Op[] = [];
  const locks: bigint[] = [];
  const order = [...births.keys()];
  const putApart = (place: number, append: AppendOp) => {
    ops.push({ place, ...appendOp(append, order) });
    for (const [table, key] of append[7] ?? []) locks.push(keyLock(schema, table, key));
  };
  let owns = births.size > 0 || perStream.size > 0;
  for (const placed of writes) {
    const { place, write } = placed;
    if (!isAppend(write)) {
      if (write.op === 'create') {
        if (write.first !== null && births.get(place)?.first === null) putApart(place, write.first);
        continue;
      }
      ops.push({ place, ...requestOp(write) });
      lockFor(write, schema, locks);
      owns ||= write.op === 'acquire';
    } else if (apart.has(write[0])) putApart(place, write);
    else appends.push(placed);
  }
  // The order in which rows are locked: by two groups alike.
  appends.sort((a, b) => (a.write as AppendOp)[0] - (b.write as AppendOp)[0]);
  return {
    values: [
      sortedLocks(locks),
      ...birthValues([...births.values()]),
      ...appendValues(appends.map(({ write }) => write as AppendOp)),
      ops.length === 0 ? null : JSON.stringify(ops),
    ],
    births: order,
    appends,
    owns,
  };
}

/** One that is written with many others by one statement. */
const isPlain = ([, , , , body, , , tables]: AppendOp): boolean =>
  tables === null && !body.includes(SEPARATOR);

function birthValues(births: readonly Birth[]): readonly unknown[] {
  if (births.length === 0) return Array(9).fill(null);
  const heads = births.map(({ request }) => request.head);
  return [
    births.map(({ request }) => request.stream),
    heads.map(({ kind }) => kind),
    heads.map(({ name }) => storable(name)),
    heads.map(({ title }) => storable(title)),
    heads.map(({ parent }) => parent ?? null),
    births.map(({ request, first }) => first?.[5] ?? request.head.status),
    births.map(({ first }) => first?.[8] ?? null),
    births.map(({ first }) => first?.[3] ?? 0),
    births.map(({ first }) => first?.[4] ?? '').join(SEPARATOR),
  ];
}

function appendValues(ops: readonly AppendOp[]): readonly unknown[] {
  if (ops.length === 0) return Array(9).fill(null);
  const hasStatus = ops.some((op) => op[5] !== null);
  const consumed = ops.flatMap(([stream, , , , , , ids]) => ids?.map((id) => [stream, id] as const) ?? []);
  return [
    numbers(ops.map((op) => op[0])),
    numbers(ops.map((op) => op[1])),
    numbers(ops.map((op) => op[2])),
    numbers(ops.map((op) => op[3])),
    ops.map((op) => op[4]).join(SEPARATOR),
    hasStatus ? ops.map((op) => op[5]) : null,
    hasStatus ? ops.map((op) => op[8]) : null,
    consumed.length === 0 ? null : numbers(consumed.map(([stream]) => stream)),
    consumed.length === 0 ? null : numbers(consumed.map(([, id]) => id)),
  ];
}

/** As PostgreSQL writes an array of numbers: `pg` would quote each. */
const numbers = (values: readonly number[]): string => `{${values.join(',')}}`;

/** PostgreSQL keeps no NUL: names for people have the sign for the unprintable there. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd');

function appendOp(op: AppendOp, births: readonly number[]): Op {
  const [stream, epoch, seq, count, body, status, consumed, writes, due] = op;
  const at = stream < 0 ? { made: births.indexOf(-1 - stream) } : { stream };
  return { op: 'append', ...at, epoch, seq, count, body, status, consumed, writes, due };
}

function requestOp(request: Exclude<WriteRequest, { readonly op: 'create' }>): Op {
  const { op } = request;
  switch (op) {
    case 'acquire':
      return { op, name: request.stream, dead: request.dead, restoring: request.restoring };
    case 'dissolve':
      return { op, dead: request.owner };
    case 'release':
    case 'snapshot':
      return request;
    case 'send':
      return { op, name: request.stream, body: request.message, count: MAX_INBOX_MESSAGES };
    case 'set':
      return { op, tab: request.table, key: request.key, value: request.value, expires: request.expiresAt };
    case 'delete':
      return { op, tab: request.table, key: request.key };
    case 'increment':
      return { op, tab: request.table, key: request.key, plus: request.by };
    case 'exchange':
      return { op, expected: request.expected, writes: request.writes };
    case 'push':
      return { op, name: request.list, value: request.value };
    case 'settle': {
      const { stream, epoch, status, due, createdAt, updatedAt, messages } = request;
      return {
        op,
        name: stream,
        epoch,
        status,
        due,
        created: createdAt,
        updated: updatedAt,
        items: messages,
      };
    }
    case 'remove':
      return { op, name: request.stream, epoch: request.epoch };
    case 'enter':
      return { op, name: request.list, seq: request.first, items: request.entries };
  }
}

function lockFor(request: WriteRequest, schema: string, locks: bigint[]): void {
  if (request.op === 'push' || request.op === 'enter') locks.push(keyLock(schema, request.list, null));
  else if (request.op === 'exchange')
    for (const [table, key] of [...request.expected, ...request.writes])
      locks.push(keyLock(schema, table, key));
  else if ('table' in request) locks.push(keyLock(schema, request.table, request.key));
}

export type Write = AppendOp | WriteRequest;

/** What is sent in one call: the writes of a group at places `from` to `to`. */
export interface EncodeCallPart {
  readonly from: number;
  readonly to: number;
}

/** Of the server's memory for a call, and of the locks that it holds: every key that is written has one. */
const MAX_CHARS = 4 * 1024 * 1024;
const MAX_WRITES = 5_000;
const MAX_REQUESTS = 500;

export function isAppend(item: Write): item is AppendOp {
  return Array.isArray(item);
}

/** Cuts a group into what one call takes: mostly one part. */
export function splitGroup(writes: readonly Write[]): readonly EncodeCallPart[] {
  const parts: EncodeCallPart[] = [];
  let [from, chars, requests] = [0, 0, 0];
  for (const [place, item] of writes.entries()) {
    const size = sizeOf(item);
    const isRequest = !isAppend(item) || item[7] !== null;
    const isFull =
      chars + size > MAX_CHARS || place - from >= MAX_WRITES || (isRequest && requests >= MAX_REQUESTS);
    if (isFull && place > from) {
      parts.push({ from, to: place });
      [from, chars, requests] = [place, 0, 0];
    }
    chars += size;
    if (isRequest) requests++;
  }
  if (writes.length > from) parts.push({ from, to: writes.length });
  return parts;
}

function sizeOf(item: Write): number {
  if (isAppend(item)) return item[4].length;
  if (item.op === 'create') return item.first?.[4].length ?? 0;
  if (item.op === 'snapshot') return item.body.length;
  if (item.op === 'send') return item.message.length;
  if (item.op === 'settle') return item.messages.reduce((sum, [, message]) => sum + message.length, 0);
  if (item.op === 'enter') return item.entries.reduce((sum, [, value]) => sum + value.length, 0);
  return 'value' in item ? item.value.length : 0;
}

/** The number of the lock that guards a key of a table, or a list: the same in every process. */
export function keyLock(schema: string, table: string, key: string | null): bigint {
  const name = key === null ? `${schema}\0list\0${table}` : `${schema}\0key\0${table}\0${key}`;
  return createHash('sha256').update(name).digest().readBigInt64BE();
}

/** Each once, in the order in which everybody takes them. Null for none. */
function sortedLocks(locks: readonly bigint[]): string | null {
  if (locks.length === 0) return null;
  const sorted = [...new Set(locks)].sort((a, b) => (a < b ? -1 : 1));
  return `{${sorted.join(',')}}`;
}
