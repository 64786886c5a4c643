import type { Json } from '../../kernel/json.ts';
import { checkMessage, checkName, MAX_INBOX_MESSAGES } from '../limits.ts';
import { inboxFull, rowUnreadable } from '../store-errors.ts';
import type { Upkeep } from '../upkeep/upkeep.ts';
import type { OwnerView } from './backend.ts';
import type { CommitQueue } from './commit-queue.ts';
import { toMessage } from './grouped-writer.ts';

export interface GroupedUpkeepDeps {
  readonly queue: CommitQueue;
  readonly view: OwnerView;
  readonly acquire: Upkeep['acquire'];
}

const ALL = Number.MAX_SAFE_INTEGER;

export function createGroupedUpkeep({ queue, view, acquire }: GroupedUpkeepDeps): Upkeep {
  return {
    acquire,
    async describe() {
      const { owners, ...rest } = await queue.read({ op: 'describe' });
      const shown = owners.map(({ owner, streams }) => ({
        pid: owner.pid,
        startedAt: owner.startedAt,
        alive: view.isAlive(owner),
        streams,
      }));
      return { ...rest, owners: shown };
    },
    async page(stream, from) {
      const start = Math.max(1, from);
      const { first, bodies, next } = await queue.read({ op: 'read', stream, from: start, limit: ALL });
      const lines = bodies.flatMap((body) => body.split('\n')).slice(start - first);
      return { events: lines, ...(next === null ? {} : { next }) };
    },
    inbox: async (stream) => (await queue.read({ op: 'inbox', stream })).map(toMessage),
    weigh: (stream) => queue.read({ op: 'weigh', stream }),
    async settle(stream, epoch, { status, due, createdAt, updatedAt, messages }) {
      if (messages.length > MAX_INBOX_MESSAGES) throw inboxFull(stream, MAX_INBOX_MESSAGES);
      const encoded = messages.map(({ at, kind, from, body }) => {
        const message = JSON.stringify({ kind, from, body });
        checkMessage(stream, message);
        return [at, message] as const;
      });
      await queue.write({
        op: 'settle',
        stream,
        epoch,
        status,
        due: due ?? null,
        createdAt,
        updatedAt,
        messages: encoded,
      });
    },
    async remove(stream, epoch) {
      await queue.write({ op: 'remove', stream, epoch });
    },
    async rows({ after, limit }) {
      const behind = after === undefined ? null : ([after.table, after.key] as const);
      const found = await queue.read({ op: 'rows', after: behind, limit: Math.max(1, limit) });
      return found.map(({ table, key, value, expiresAt }) => ({
        table,
        key,
        value: parsed(table, key, value),
        ...(expiresAt === null ? {} : { expiresAt }),
      }));
    },
    lists: ({ after = '', limit }) => queue.read({ op: 'lists', after, limit: Math.max(1, limit) }),
    async enter(list, first, entries) {
      checkName('A list', list);
      const encoded = entries.map(({ at, value }) => [at, JSON.stringify(value)] as const);
      await queue.write({ op: 'enter', list, first, entries: encoded });
    },
    examine: () => queue.read({ op: 'examine' }),
    checksums: () => queue.read({ op: 'checksums' }),
    async compact() {
      const { owners, bytes } = await queue.read({ op: 'describe' });
      const isShared = owners.some(({ owner }) => owner.pid !== view.self.pid && view.isAlive(owner));
      if (isShared) return { beforeBytes: bytes, afterBytes: bytes, left: 'in_use' };
      return queue.read({ op: 'compact' });
    },
  };
}

function parsed(table: string, key: string, value: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch (thrown) {
    throw rowUnreadable(table, key, thrown);
  }
}
