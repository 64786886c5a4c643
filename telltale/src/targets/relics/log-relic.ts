import type { JsonObject } from '../../kernel/json.ts';
import type { Operation } from '../operations.ts';
import { checkSize } from './check-size.ts';
import { FILTER, findEntries, type LogEntry, SINCE } from './find-entries.ts';
import type { RelicContext, RelicDriver } from './relic-driver.ts';
import { relicHealth } from './relic-health.ts';

const DEFAULT_ENTRIES = 20;

const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  description: `Default ${DEFAULT_ENTRIES}.`,
};

/** A list of the store that is only appended to. */
export function logDriver({
  name,
  what,
  store: { tables, location },
  deps: { clock },
}: RelicContext): RelicDriver {
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
  return { operations, byDefault: 'append', unnamed: appended };
}

/** A call without an operation appends its `value`; where it has other parameters, all of them are the entry. */
function appended(input: JsonObject): JsonObject {
  const names = Object.keys(input);
  const isValue = names.length === 0 || (names.length === 1 && names[0] === 'value');
  return isValue ? input : { operation: 'append', value: input };
}

const shown = ({ entries, isCut }: { readonly entries: readonly LogEntry[]; readonly isCut: boolean }) => ({
  entries: entries.map(({ n, at, value }) => ({ n, at: new Date(at).toISOString(), value })),
  ...(isCut ? { cut: 'There are more entries than were searched.' } : {}),
});
