import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { checkName } from '../limits.ts';
import type { Tables, TableWrite } from '../store.ts';
import { notANumber } from '../store-errors.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { EncodedWrite } from './messages.ts';

const ALL = Number.MAX_SAFE_INTEGER;

const encoded = ({ table, key, value }: TableWrite): EncodedWrite => [
  table,
  key,
  value === undefined ? null : JSON.stringify(value),
];

export function createGroupedTables(queue: CommitQueue, clock: Pick<Clock, 'now'>): Tables {
  const checkKey = (table: string, key: string) => {
    checkName('A table', table);
    checkName('A key', key);
  };
  return {
    async get(table, key) {
      checkKey(table, key);
      const value = await queue.read({ op: 'get', table, key });
      return value === null ? undefined : (JSON.parse(value) as Json);
    },
    async set(table, key, value, { ttlMs } = {}) {
      checkKey(table, key);
      const expiresAt = ttlMs === undefined ? null : clock.now() + ttlMs;
      await queue.write({ op: 'set', table, key, value: JSON.stringify(value), expiresAt });
    },
    async delete(table, key) {
      checkKey(table, key);
      return queue.write({ op: 'delete', table, key });
    },
    async keys(table, { prefix = '', after = '', limit = ALL } = {}) {
      checkName('A table', table);
      return queue.read({ op: 'keys', table, prefix, after, limit: Math.max(0, limit) });
    },
    async increment(table, key, by) {
      checkKey(table, key);
      if (!Number.isFinite(by)) throw notANumber(table, key);
      return queue.write({ op: 'increment', table, key, by });
    },
    async exchange(expected, writes) {
      for (const { table, key } of [...expected, ...writes]) checkKey(table, key);
      return queue.write({
        op: 'exchange',
        expected: expected.map(encoded),
        writes: writes.map(
          (write) =>
            [...encoded(write), write.ttlMs === undefined ? null : clock.now() + write.ttlMs] as const,
        ),
      });
    },
    async push(list, value) {
      checkName('A list', list);
      return queue.write({ op: 'push', list, value: JSON.stringify(value) });
    },
    async entries(list, { after = 0, last, limit = ALL } = {}) {
      checkName('A list', list);
      const rows = await queue.read({
        op: 'entries',
        list,
        after,
        last: last === undefined ? null : Math.max(0, last),
        limit: Math.max(0, limit),
      });
      return rows.map(({ n, at, value }) => ({ n, at, value: JSON.parse(value) as Json }));
    },
  };
}
