import type { Operation } from '../operations.ts';
import { checkSize } from './check-size.ts';
import type { RelicContext, RelicDriver } from './relic-driver.ts';
import { relicHealth } from './relic-health.ts';

const DEFAULT_ENTRIES = 20;

const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: `How many; ${DEFAULT_ENTRIES} if absent.`,
};

/** A list of the store that is only appended to. */
export function logDriver({
  name,
  what,
  store: { tables, location },
  edges: { clock },
}: RelicContext): RelicDriver {
  const list = `relic:${name}`;
  const operations: Readonly<Record<string, Operation>> = {
    append: {
      description: 'adds an entry',
      parameters: { value: { description: 'The entry: any value.' } },
      required: ['value'],
      idempotent: false,
      async run({ value = null }) {
        checkSize(value, 'an entry');
        return { n: await tables.push(list, value) };
      },
    },
    read: {
      description: 'entries in order, from the oldest or behind one',
      parameters: {
        after: { type: 'integer', minimum: 0, description: 'The number of an entry: those behind it.' },
        limit: LIMIT,
      },
      idempotent: true,
      run: async ({ after = 0, limit = DEFAULT_ENTRIES }) => ({
        entries: await entries({ after: Number(after), limit: Number(limit) }),
      }),
    },
    tail: {
      description: 'the newest entries, in order',
      parameters: { limit: LIMIT },
      idempotent: true,
      run: async ({ limit = DEFAULT_ENTRIES }) => ({ entries: await entries({ last: Number(limit) }) }),
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
  return { operations, byDefault: 'append' };

  async function entries(options: {
    readonly after?: number;
    readonly last?: number;
    readonly limit?: number;
  }) {
    const found = await tables.entries(list, options);
    return found.map(({ n, at, value }) => ({ n, at: new Date(at).toISOString(), value }));
  }
}
