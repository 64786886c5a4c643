import { RuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import { isMap } from '../../../manifest/schema/plain-values.ts';
import type { Operation } from '../../operations.ts';
import type { TargetCall } from '../../target.ts';
import type { RelicContext, RelicDriver } from '../relic-driver.ts';
import {
  badConnection,
  checkSize,
  getOrSet,
  readConnection,
  readTime,
  relicHealth,
  shownAddress,
} from '../relic-driver.ts';
import { createRedisConnection } from './redis-connection.ts';

const MAX_LISTED = 1_000;
const DEFAULT_LISTED = 100;

const KEY = { type: 'string', minLength: 1, maxLength: 1024, description: 'The key.' };
const VALUE = { description: 'Text is kept as it is, any other value as JSON.' };
const JSON_FLAG = { type: 'boolean', description: 'true: what is kept is JSON, and comes as a value.' };
const TTL = { type: ['string', 'number'], description: 'How long it is kept: "10m", or seconds.' };
const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_LISTED,
  description: `How many; ${DEFAULT_LISTED} if absent.`,
};

/** A Redis server. */
export function redisDriver(context: RelicContext): RelicDriver {
  const { what, deps } = context;
  const { url } = readConnection(context, []);
  checkAddress(context, url);
  const where = shownAddress(url);
  const connection = createRedisConnection({ what, url, where, clock: deps.clock });
  const read = (call: Pick<TargetCall, 'signal'>, ...args: readonly string[]) =>
    connection.send({ args, mayRepeat: true }, call.signal);
  const write = (call: Pick<TargetCall, 'signal'>, ...args: readonly string[]) =>
    connection.send({ args, mayRepeat: false }, call.signal);
  const ttlOf = (ttl: Json) => String(Math.ceil(readTime(ttl, '/ttl')));

  const keys: Operation = {
    description: 'keys that match a pattern, in no order',
    parameters: {
      pattern: { type: 'string', maxLength: 1024, description: 'Like "user:*"; all if absent.' },
      cursor: {
        type: 'string',
        pattern: '^[0-9]+$',
        description: '"next" of the call before: for the next page.',
      },
      limit: LIMIT,
    },
    idempotent: true,
    run: ({ pattern = '*', cursor = '0', limit = DEFAULT_LISTED }, call) =>
      scanKeys(String(pattern), String(cursor), Number(limit), (...args) => read(call, ...args)),
  };
  const increment: Operation = {
    description: 'adds to a number and gives the new one',
    parameters: { key: KEY, by: { type: 'number', description: '1 if absent.' } },
    required: ['key'],
    idempotent: false,
    async run({ key, by = 1 }, call) {
      if (Number.isSafeInteger(by)) return write(call, 'INCRBY', String(key), String(by));
      return Number(await write(call, 'INCRBYFLOAT', String(key), String(by)));
    },
  };
  const operations: Readonly<Record<string, Operation>> = {
    get: {
      description: 'the value of a key, null if there is none',
      parameters: { key: KEY, json: JSON_FLAG },
      required: ['key'],
      idempotent: true,
      run: async ({ key, json }, call) => fromText(what, await read(call, 'GET', String(key)), json),
    },
    set: {
      description: 'keeps a value under a key',
      parameters: {
        key: KEY,
        value: VALUE,
        ttl: TTL,
        if_absent: { type: 'boolean', description: 'true: only if the key has no value yet.' },
      },
      required: ['key', 'value'],
      // A repeated "if_absent" would find its own value.
      idempotent: ({ if_absent: ifAbsent }) => ifAbsent !== true,
      async run({ key, value = null, ttl, if_absent: ifAbsent }, call) {
        checkSize(value, `key "${String(key)}"`);
        const args = [
          'SET',
          String(key),
          asText(value),
          ...(ttl === undefined ? [] : ['PX', ttlOf(ttl)]),
          ...(ifAbsent === true ? ['NX'] : []),
        ];
        return { set: (await (ifAbsent === true ? write : read)(call, ...args)) !== null };
      },
    },
    delete: {
      description: 'removes a key',
      parameters: { key: KEY },
      required: ['key'],
      idempotent: true,
      run: async ({ key }, call) => ({ deleted: (await read(call, 'DEL', String(key))) === 1 }),
    },
    increment,
    incr: increment,
    expire: {
      description: 'lets a key go after a time',
      parameters: { key: KEY, ttl: TTL },
      required: ['key', 'ttl'],
      idempotent: true,
      run: async ({ key, ttl = null }, call) => ({
        found: (await read(call, 'PEXPIRE', String(key), ttlOf(ttl))) === 1,
      }),
    },
    keys,
    scan: keys,
    push: {
      description: 'adds a value to a list, at its right end',
      parameters: { key: KEY, value: VALUE, side: side('right') },
      required: ['key', 'value'],
      idempotent: false,
      async run({ key, value = null, side: at = 'right' }, call) {
        checkSize(value, `list "${String(key)}"`);
        return { length: await write(call, at === 'left' ? 'LPUSH' : 'RPUSH', String(key), asText(value)) };
      },
    },
    pop: {
      description: 'takes a value off a list, at its left end; null if there is none',
      parameters: { key: KEY, side: side('left'), json: JSON_FLAG },
      required: ['key'],
      idempotent: false,
      run: async ({ key, side: at = 'left', json }, call) =>
        fromText(what, await write(call, at === 'left' ? 'LPOP' : 'RPOP', String(key)), json),
    },
    range: {
      description: 'values of a list, from the left',
      parameters: {
        key: KEY,
        start: { type: 'integer', description: 'Where it begins: 0 is the first, -1 the last; 0 if absent.' },
        limit: LIMIT,
        json: JSON_FLAG,
      },
      required: ['key'],
      idempotent: true,
      async run({ key, start = 0, limit = DEFAULT_LISTED, json }, call) {
        const from = Number(start);
        const last = from + Number(limit) - 1;
        // If the range starts from the end, a last index of 0 or more would count from the beginning.
        const to = from < 0 && last >= 0 ? -1 : last;
        const found = await read(call, 'LRANGE', String(key), String(from), String(to));
        return { items: (found as readonly Json[]).map((item) => fromText(what, item, json)) };
      },
    },
    hash_get: {
      description: 'a field of a hash (null if there is none), or all fields',
      parameters: {
        key: KEY,
        field: { type: 'string', description: 'All, if absent.' },
        json: JSON_FLAG,
      },
      required: ['key'],
      idempotent: true,
      async run({ key, field, json }, call) {
        if (field !== undefined)
          return fromText(what, await read(call, 'HGET', String(key), String(field)), json);
        const flat = (await read(call, 'HGETALL', String(key))) as readonly Json[];
        const pairs = flat.flatMap((name, index) =>
          index % 2 === 0 ? [[String(name), fromText(what, flat[index + 1] ?? null, json)] as const] : [],
        );
        return Object.fromEntries(pairs);
      },
    },
    hash_set: {
      description: 'sets fields of a hash',
      parameters: {
        key: KEY,
        fields: {
          type: 'object',
          minProperties: 1,
          maxProperties: MAX_LISTED,
          description: 'Values by field.',
        },
      },
      required: ['key', 'fields'],
      idempotent: true,
      async run({ key, fields }, call) {
        const given: JsonObject = isMap(fields) ? (fields as JsonObject) : {};
        checkSize(given, `hash "${String(key)}"`);
        const flat = Object.entries(given).flatMap(([name, value]) => [name, asText(value)]);
        return { added: await read(call, 'HSET', String(key), ...flat) };
      },
    },
    publish: {
      description: 'sends a message to all that listen to a channel now',
      parameters: { channel: { ...KEY, description: 'The channel.' }, message: VALUE },
      required: ['channel', 'message'],
      idempotent: false,
      async run({ channel, message = null }, call) {
        checkSize(message, 'a message');
        return { receivers: await write(call, 'PUBLISH', String(channel), asText(message)) };
      },
    },
    health: relicHealth({
      what,
      driver: 'redis',
      where,
      clock: deps.clock,
      async ask(signal) {
        await read({ signal }, 'PING');
        return {};
      },
    }),
  };
  return { operations, byDefault: 'get', implyOperation: getOrSet, close: connection.close };
}

const side = (byDefault: string) => ({
  enum: ['left', 'right'],
  description: `Which end of the list; ${byDefault} if absent.`,
});

function checkAddress({ what, file }: RelicContext, url: string): void {
  let read: URL | undefined;
  try {
    read = new URL(url);
  } catch {
    read = undefined; // its message would reveal the URL, and with it a password
  }
  const isRedis = read?.protocol === 'redis:' || read?.protocol === 'rediss:';
  if (isRedis && /^\/?\d{0,5}$/.test(read?.pathname ?? '')) return;
  throw badConnection(
    what,
    file,
    'is not a valid redis:// URL',
    'Write it like redis://USER:PASSWORD@HOST:6379/0. Percent-encode special characters in the password.',
  );
}

/** Redis stores text. Text is stored as it is, so that other programs can read it. Other values are stored as JSON. */
const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Reads a stored value, as JSON if requested. */
function fromText(what: string, found: Json, asJson: Json | undefined): Json {
  if (asJson !== true || typeof found !== 'string') return found;
  try {
    return JSON.parse(found) as Json;
  } catch (cause) {
    throw new RuntimeError('bad_output', `The value in ${what} is not JSON.`, {
      hint: 'Leave "json" out to get it as text.',
      cause,
    });
  }
}

/** The most rounds of one call, so that a rare pattern does not scan a server with millions of keys. */
const MAX_ROUNDS = 100;
/** The most keys the server examines per round, so that it never blocks for long. */
const ROUND = 1_000;

/**
 * Finds matching keys, `limit` or a few more. `next` continues where this call stopped. Without it, these were all. A
 * key may occur twice across several calls, because SCAN works that way.
 */
async function scanKeys(
  pattern: string,
  cursor: string,
  limit: number,
  send: (...args: readonly string[]) => Promise<Json>,
): Promise<JsonObject> {
  const keys = new Set<string>();
  let at = cursor;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const count = pattern === '*' ? Math.min(limit - keys.size, ROUND) : ROUND;
    const reply = await send('SCAN', at, 'MATCH', pattern, 'COUNT', String(count));
    const [next, found] = reply as readonly [string | number, readonly Json[]];
    for (const key of found) keys.add(String(key));
    at = String(next);
    if (at === '0' || keys.size >= limit) break;
  }
  return { keys: [...keys], ...(at === '0' ? {} : { next: at }) };
}
