import { beginsWithADay } from '../../lib/dates.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { RelicManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { abortError } from '../abort.ts';
import { withApproval } from '../access/approval-need.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { defineOperations, type Operation } from '../operations.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';
import { httpDriver } from './http/http-relic.ts';
import { queueDriver } from './queue/queue-relic.ts';
import { redisDriver } from './redis/redis-relic.ts';
import type { RelicContext, RelicDriver, RelicStore } from './relic-driver.ts';
import { badConnection, checkSize, getOrSet, readTime, relicHealth } from './relic-driver.ts';
import { sqlDriver } from './sql/sql-relic.ts';

/** Turns a Relic manifest into a target. `file` is the manifest's file. */
export function relicTarget(relic: RelicManifest, file: string, store: RelicStore, deps: TargetDeps): Target {
  const { name, driver, approval, connection } = relic;
  const what = `relic "${name}"`;
  const made = createDriver(driver, { name, what, file, connection, store, deps });
  const operations = defineOperations(what, made.operations, made.byDefault, made.implyOperation);
  if (made.close !== undefined) deps.atClose(made.close);
  const target: Target = {
    kind: 'relic',
    name,
    description: relic.description ?? DESCRIPTIONS[driver],
    parameters: operations.parameters,
    operations: operations.operations,
    byDefault: operations.byDefault,
    idempotent: relic.idempotent,
    idempotentFor: (input) => relic.idempotent || operations.idempotentFor(input),
    start: 'on_close',
    ...(relic.timeout === undefined ? {} : { timeoutMs: relic.timeout.ms }),
    inFull: operations.inFull,
    check: operations.check,
    definition: () => definitionHash(relic as unknown as Json),
    async run(call) {
      if (call.signal.aborted) throw abortError(what, call.signal);
      return operations.run(call);
    },
  };
  return approval === 'always' ? withApproval(target) : target;
}

function createDriver(driver: RelicManifest['driver'], context: RelicContext): RelicDriver {
  switch (driver) {
    case 'kv':
      return kvDriver(withoutConnection(driver, context));
    case 'log':
      return logDriver(withoutConnection(driver, context));
    case 'queue':
      return queueDriver(withoutConnection(driver, context));
    case 'sql':
      return sqlDriver(context);
    case 'redis':
      return redisDriver(context);
    case 'http':
      return httpDriver(context);
  }
}

/** Rejects a "connection" for drivers that work in the runtime's own store. */
function withoutConnection(driver: string, context: RelicContext): RelicContext {
  if (context.connection === undefined) return context;
  throw badConnection(
    context.what,
    context.file,
    `cannot be used: the driver ${driver} lives in the runtime's own store`,
    'Leave "connection" out, or choose the driver sql, redis or http.',
  );
}

const DESCRIPTIONS: Readonly<Record<RelicManifest['driver'], string>> = {
  kv: 'Values by key that outlive the session.',
  log: 'A list that is only appended to and outlives the session.',
  sql: 'A database.',
  redis: 'A Redis server.',
  http: 'A service over HTTP.',
  queue: 'A queue that outlives the session.',
};

const DEFAULT_ENTRIES = 20;

const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: `Default ${DEFAULT_ENTRIES}.`,
};

/** An append-only list in the store. */
function logDriver({ name, what, store: { tables, location }, deps: { clock } }: RelicContext): RelicDriver {
  const list = `relic:${name}`;
  const operations: Readonly<Record<string, Operation>> = {
    append: {
      description: 'adds an entry',
      parameters: { value: {} },
      required: ['value'],
      idempotent: false,
      async run({ value = null }) {
        checkSize(value, 'an entry');
        return { n: await tables.push(list, value) };
      },
    },
    read: {
      description: 'returns entries in order, the oldest first',
      parameters: {
        after: { type: 'integer', minimum: 0, description: 'Only entries after this number.' },
        limit: LIMIT,
        filter: FILTER,
        since: SINCE,
      },
      idempotent: true,
      run: async ({ after = 0, limit = DEFAULT_ENTRIES, ...wanted }) =>
        shown(
          await findEntries(tables, list, {
            ...wanted,
            order: 'oldest',
            after: Number(after),
            limit: Number(limit),
            now: clock.now(),
          }),
        ),
    },
    tail: {
      description: 'returns the newest entries, in order',
      parameters: { limit: LIMIT, filter: FILTER, since: SINCE },
      idempotent: true,
      run: async ({ limit = DEFAULT_ENTRIES, ...wanted }) =>
        shown(
          await findEntries(tables, list, {
            ...wanted,
            order: 'newest',
            after: 0,
            limit: Number(limit),
            now: clock.now(),
          }),
        ),
    },
    health: relicHealth({
      what,
      driver: 'log',
      where: location,
      clock,
      async ask() {
        await tables.entries(list, { last: 1 });
        return {};
      },
    }),
  };
  return { operations, byDefault: 'append', implyOperation: appended };
}

/** A call without an operation appends its `value`. If it has other parameters, all of them together are the entry. */
function appended(input: JsonObject): JsonObject {
  const names = Object.keys(input);
  const isValue = names.length === 0 || (names.length === 1 && names[0] === 'value');
  return isValue ? input : { operation: 'append', value: input };
}

const shown = ({ entries, isCut }: { readonly entries: readonly LogEntry[]; readonly isCut: boolean }) => ({
  entries: entries.map(({ n, at, value }) => ({ n, at: new Date(at).toISOString(), value })),
  ...(isCut ? { cut: 'There are more entries than were searched.' } : {}),
});

const FILTER = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description: 'Only entries with this "level" or text.',
};

const SINCE = {
  type: ['string', 'number'],
  description: 'Only entries since then: "1h", seconds, or a time (ISO 8601).',
};

export interface LogEntry {
  readonly n: number;
  readonly at: number;
  readonly value: Json;
}

export interface EntryQuery {
  readonly order: 'oldest' | 'newest';
  readonly after: number;
  readonly limit: number;
  readonly now: number;
  readonly filter?: Json;
  readonly since?: Json;
}

/** The most entries examined in one search. */
const MAX_SEARCHED = 20_000;
const PAGE = 200;

/**
 * Finds matching entries, in order. A search stops after 20,000 entries, and then `isCut` says that there may be more.
 * A search from the newest also stops at the first entry that is too old, so an hour of a large log costs only as much
 * as that hour.
 */
async function findEntries(
  tables: RelicStore['tables'],
  list: string,
  { order, after, limit, now, filter, since }: EntryQuery,
): Promise<{ readonly entries: readonly LogEntry[]; readonly isCut: boolean }> {
  const from = since === undefined ? Number.NEGATIVE_INFINITY : momentOf(since, now);
  if (filter === undefined && since === undefined) {
    const options = order === 'newest' ? { last: limit } : { after, limit };
    return { entries: await tables.entries(list, options), isCut: false };
  }
  const wanted = filter === undefined ? () => true : matcher(String(filter));
  const newest = (await tables.entries(list, { last: 1 })).at(-1)?.n ?? 0;
  const found: LogEntry[] = [];
  let searched = 0;
  let isOver = false;
  const look = (entry: LogEntry): void => {
    searched++;
    if (entry.at < from) isOver ||= order === 'newest';
    else if (found.length < limit && wanted(entry.value)) found.push(entry);
  };
  let at = order === 'newest' ? newest : after;
  while (!isOver && found.length < limit && searched < MAX_SEARCHED) {
    const start = order === 'newest' ? Math.max(0, at - PAGE) : at;
    const size = order === 'newest' ? at - start : PAGE;
    const page = size === 0 ? [] : await tables.entries(list, { after: start, limit: size });
    const last = page.at(-1);
    if (last === undefined) break;
    for (const entry of order === 'newest' ? page.toReversed() : page) look(entry);
    at = order === 'newest' ? start : last.n;
  }
  const isDone = isOver || found.length >= limit || (order === 'newest' ? at === 0 : at >= newest);
  return { entries: order === 'newest' ? found.toReversed() : found, isCut: !isDone };
}

function matcher(filter: string): (value: Json) => boolean {
  const level = filter.toLowerCase();
  return (value) => {
    if (isMap(value) && typeof value.level === 'string' && value.level.toLowerCase() === level) return true;
    return (typeof value === 'string' ? value : JSON.stringify(value)).includes(filter);
  };
}

const MOMENT = /^\d{4}-\d{2}-\d{2}(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** A time without a zone is UTC on every machine. */
function momentOf(since: Json, now: number): number {
  const text = String(since).trim();
  const match = MOMENT.exec(text);
  if (match === null) {
    if (/^\d{4}-/.test(text)) throw noMoment(text);
    return now - readTime(since, '/since');
  }
  const [, time, zone] = match;
  const moment = beginsWithADay(text)
    ? Date.parse(time === undefined || zone !== undefined ? text : `${text.replace(' ', 'T')}Z`)
    : Number.NaN;
  if (Number.isNaN(moment)) throw noMoment(text);
  return moment;
}

const noMoment = (text: string) =>
  new RuntimeError('bad_parameters', `"/since" is "${text.slice(0, 60)}", which is not a time.`, {
    hint: 'Write it like "1h", "30m", or 2026-01-31T12:00:00Z.',
  });

const MAX_KEY = 512;
const DEFAULT_KEYS = 100;

const KEY = { type: 'string', minLength: 1, maxLength: MAX_KEY };

/** Values by key in a table of the store. */
function kvDriver({ name, what, store: { tables, location }, deps: { clock } }: RelicContext): RelicDriver {
  const table = `relic:${name}`;
  const keys: Operation = {
    description: 'lists keys in order',
    parameters: {
      prefix: { type: 'string', description: 'Only keys with this prefix.' },
      after: { type: 'string', description: 'Only keys after this one, for the next page.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: `Default ${DEFAULT_KEYS}.`,
      },
    },
    idempotent: true,
    async run({ prefix, after, limit = DEFAULT_KEYS }) {
      const found = await tables.keys(table, {
        ...(typeof prefix === 'string' ? { prefix } : {}),
        ...(typeof after === 'string' ? { after } : {}),
        limit: Number(limit) + 1,
      });
      const page = found.slice(0, Number(limit));
      return { keys: page, ...(found.length > page.length ? { next: page.at(-1) ?? null } : {}) };
    },
  };
  const operations: Readonly<Record<string, Operation>> = {
    get: {
      description: 'returns the value of a key, or null',
      parameters: { key: KEY },
      required: ['key'],
      idempotent: true,
      run: async ({ key }) => (await tables.get(table, String(key))) ?? null,
    },
    set: {
      description: 'stores a value',
      parameters: {
        key: KEY,
        value: {},
        ttl: {
          type: ['string', 'number'],
          description: 'How long to keep it: "10m", "2h" or seconds.',
        },
      },
      required: ['key', 'value'],
      idempotent: true,
      async run(input) {
        const { key, value = null } = input;
        checkSize(value, `key "${String(key)}"`);
        const ttlMs = input.ttl === undefined ? undefined : readTime(input.ttl, '/ttl');
        await tables.set(table, String(key), value, ttlMs === undefined ? {} : { ttlMs });
        return { key: String(key), ...(ttlMs === undefined ? {} : { expires_in_ms: ttlMs }) };
      },
    },
    delete: {
      description: 'removes a key',
      parameters: { key: KEY },
      required: ['key'],
      idempotent: true,
      run: async ({ key }) => ({ deleted: await tables.delete(table, String(key)) }),
    },
    keys,
    list: keys,
    increment: {
      description: 'adds to a number and returns the sum',
      parameters: { key: KEY, by: { type: 'number', description: 'Default 1.' } },
      required: ['key'],
      idempotent: false,
      async run({ key, by = 1 }) {
        try {
          return await tables.increment(table, String(key), Number(by));
        } catch (error) {
          throw await notCounted(tables, table, String(key), Number(by), error);
        }
      },
    },
    health: relicHealth({
      what,
      driver: 'kv',
      where: location,
      clock,
      async ask() {
        await tables.keys(table, { limit: 1 });
        return {};
      },
    }),
  };
  return { operations, byDefault: 'get', implyOperation: getOrSet };
}

/** Explains a failed increment to the model, with the key's present value. */
async function notCounted(
  tables: Pick<RelicContext['store']['tables'], 'get'>,
  table: string,
  key: string,
  by: number,
  error: unknown,
): Promise<unknown> {
  const code = error instanceof RuntimeError ? error.code : undefined;
  if (code !== 'not_exact' && code !== 'not_a_number') return error;
  const found = (await tables.get(table, key)) ?? 0;
  if (typeof found !== 'number') return noNumber(key);
  return code === 'not_exact' ? inexact(key, found, by) : error;
}

const inexact = (key: string, before: number, by: number) =>
  new RuntimeError(
    'bad_parameters',
    `The key "${key}" holds ${before}, to which ${by} cannot be added: numbers of that size are not exact.`,
    { hint: 'Count in another key, or set this one to a smaller number with the operation "set".' },
  );

const noNumber = (key: string) =>
  new RuntimeError('bad_parameters', `The key "${key}" does not hold a number.`, {
    hint: 'Set it to a number with the operation "set" first.',
  });
