import { createHash } from 'node:crypto';
import type { NotificationInfo } from '../../client/api.ts';
import { derivedId } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Tables } from '../../store/store.ts';

type Status = NotificationInfo['status'];

const TABLES: Readonly<Record<Status, string>> = {
  waiting: 'notify.waiting',
  sent: 'notify.sent',
  dead: 'notify.dead',
};
const STATUSES: readonly Status[] = ['waiting', 'sent', 'dead'];
/** Ids of notifications that were counted in another one. */
const COUNTED = 'notify.counted';

const DAY_MS = 86_400_000;
/** After a longer downtime, a restarted process may count some of the last minute again. */
const COUNTED_MS = DAY_MS;
const KEPT_MS: Readonly<Record<'sent' | 'dead', number>> = { sent: 7 * DAY_MS, dead: 30 * DAY_MS };
/** The most rows of each status. The oldest are deleted. */
const MAX_KEPT = 1_000;
/** How often rows are trimmed: after this many moves. */
const TRIM_AFTER = 100;

/** Notifications in the store's tables. Each is in exactly one of them, and moves in one transaction. */
export interface Outbox {
  /** Adds a row, unless its id is known. The ids in `counted` are known from then on. */
  add(row: OutboxRow, status?: 'waiting' | 'dead', counted?: readonly string[]): Promise<boolean>;
  get(id: string, status: Status): Promise<OutboxRow | undefined>;
  /** Whether a notification is stored, or was counted in another one. */
  isKnown(id: string): Promise<boolean>;
  /** Replaces a row. False if it has changed meanwhile. */
  replace(row: OutboxRow, by: OutboxRow, counted?: readonly string[]): Promise<boolean>;
  /** Moves a row. False if it has changed meanwhile. */
  move(row: OutboxRow, from: Status, by: OutboxRow, to: Status): Promise<boolean>;
  waiting(limit: number): Promise<readonly OutboxRow[]>;
  /** Newest first, after `before`. */
  list(
    status: Status | undefined,
    before: string | undefined,
    limit: number,
  ): Promise<readonly NotificationInfo[]>;
}

export function createOutbox(tables: Tables): Outbox {
  const moved = { sent: 0, dead: 0 };
  const at = (status: Status, id: string, value: Json | undefined) => ({
    table: TABLES[status],
    key: id,
    value,
  });
  const kept = (status: Status, row: OutboxRow) => ({
    ...at(status, row.id, asJson(row)),
    ...(status === 'waiting' ? {} : { ttlMs: KEPT_MS[status] }),
  });
  const known = (counted: readonly string[]) =>
    counted.map((key) => ({ table: COUNTED, key, value: true, ttlMs: COUNTED_MS }));
  const get: Outbox['get'] = async (id, status) => asRow(await tables.get(TABLES[status], id));
  const trim = async (status: Status) => {
    if (status === 'waiting' || ++moved[status] % TRIM_AFTER !== 0) return;
    const keys = await tables.keys(TABLES[status], { limit: MAX_KEPT + 2 * TRIM_AFTER });
    for (const key of keys.slice(MAX_KEPT)) await tables.delete(TABLES[status], key);
  };
  return {
    get,
    async add(row, status = 'waiting', counted = []) {
      const isNew = STATUSES.map((each) => at(each, row.id, undefined));
      const added = await tables.exchange(isNew, [kept(status, row), ...known(counted)]);
      if (added) await trim(status);
      return added;
    },
    async isKnown(id) {
      const places = [...STATUSES.map((status) => TABLES[status]), COUNTED];
      const found = await Promise.all(places.map((table) => tables.get(table, id)));
      return found.some((value) => value !== undefined);
    },
    replace: (row, by, counted = []) =>
      tables.exchange(
        [at('waiting', row.id, asJson(row))],
        [at('waiting', row.id, asJson(by)), ...known(counted)],
      ),
    async move(row, from, by, to) {
      const isMoved = await tables.exchange(
        [at(from, row.id, asJson(row))],
        [at(from, row.id, undefined), kept(to, by)],
      );
      if (isMoved) await trim(to);
      return isMoved;
    },
    async waiting(limit) {
      const keys = await tables.keys(TABLES.waiting, { limit });
      const rows = await Promise.all(keys.map((key) => get(key, 'waiting')));
      return rows.flatMap((row) => row ?? []);
    },
    async list(status, before, limit) {
      const chosen = status === undefined ? STATUSES : [status];
      const keys = await Promise.all(
        chosen.map(async (each) =>
          (
            await tables.keys(TABLES[each], { limit, ...(before === undefined ? {} : { after: before }) })
          ).map((id) => ({ id, status: each })),
        ),
      );
      const first = keys
        .flat()
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit);
      const rows = await Promise.all(
        first.map(async ({ id, status: found }) => {
          const row = await get(id, found);
          return row === undefined ? [] : [infoOf(row, found)];
        }),
      );
      return rows.flat();
    },
  };
}

/** A notification as it is stored. It contains no secrets, because those are in the manifest of the channel. */
export interface OutboxRow {
  readonly id: string;
  readonly at: number;
  readonly agent: string;
  readonly channel: string;
  readonly kind: NotificationInfo['kind'];
  readonly about: string;
  readonly message: string;
  readonly data: JsonObject;
  readonly stream: string;
  readonly of: 'session' | 'run';
  readonly seq: number;
  /** The number of all attempts. */
  readonly attempts: number;
  /** The attempts since it was last given up. */
  readonly tries: number;
  readonly nextAt: number;
  /** The process that is sending it, and until when at most. */
  readonly lease?: { readonly by: string; readonly until: number };
  readonly error?: string;
  /** When it was sent or given up. */
  readonly endedAt?: number;
}

/** Ids contain 48 bits of time, counting down, so that a table's first key is the newest. */
const LAST_TIME = 2 ** 48 - 1;

/** The same id for the same event and channel, however often the event is seen. */
export const outboxId = (at: number, ...parts: readonly (string | number)[]): string =>
  derivedId('ntf', LAST_TIME - at, createHash('sha256').update(JSON.stringify(parts)).digest());

export function infoOf(row: OutboxRow, status: NotificationInfo['status']): NotificationInfo {
  const { id, at, channel, kind, agent, about, message, stream, seq, attempts, nextAt, error } = row;
  return {
    id,
    at,
    channel,
    kind,
    agent,
    about,
    message,
    stream,
    seq,
    status,
    attempts,
    ...(status === 'waiting' ? { nextAt } : {}),
    ...(error === undefined ? {} : { error }),
  };
}

/** The content that receivers get. */
export function payloadOf(row: OutboxRow, url: string | undefined): JsonObject {
  const { id, about, at, agent, of, stream, message, data } = row;
  return {
    id,
    type: about,
    at: new Date(at).toISOString(),
    agent,
    [of]: stream,
    message,
    data,
    ...(url === undefined ? {} : { url }),
  };
}

const asJson = (row: OutboxRow): Json => row as unknown as Json;
const asRow = (value: Json | undefined): OutboxRow | undefined => value as unknown as OutboxRow | undefined;
