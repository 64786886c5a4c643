import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Operation } from '../operations.ts';
import { checkSize } from './check-size.ts';
import { getOrSet } from './get-or-set.ts';
import { readTime } from './read-time.ts';
import type { RelicContext, RelicDriver } from './relic-driver.ts';
import { relicHealth } from './relic-health.ts';

const MAX_KEY = 512;
const DEFAULT_KEYS = 100;

const KEY = { type: 'string', minLength: 1, maxLength: MAX_KEY };

/** Values by key in a table of the store. */
export function kvDriver({
  name,
  what,
  store: { tables, location },
  deps: { clock },
}: RelicContext): RelicDriver {
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
  return { operations, byDefault: 'get', unnamed: getOrSet };
}

/** As the model is told: what is there by now is what matters to it. */
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
  new RuntimeError('bad_parameters', `The key "${key}" holds something that is no number.`, {
    hint: 'Give it a number with the operation "set" first.',
  });
