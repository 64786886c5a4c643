import { createHash } from 'node:crypto';
import type { NotificationInfo } from '../../client/api.ts';
import { derivedId } from '../../kernel/ids.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';

/** A notification, as the store holds it. No secret is in it: how a channel is reached its manifest says. */
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
  /** All that were made. */
  readonly attempts: number;
  /** Since it was last given up. */
  readonly tries: number;
  readonly nextAt: number;
  /** Who is sending it, and for how long at the most. */
  readonly lease?: { readonly by: string; readonly until: number };
  readonly error?: string;
  /** When it was sent, or given up. */
  readonly endedAt?: number;
}

/** 48 bits of time, counted down: a table's first key is the newest. */
const LAST_TIME = 2 ** 48 - 1;

/** The same for the same event and channel, however often it is seen. */
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

/** What a receiver is told. */
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

export const asJson = (row: OutboxRow): Json => row as unknown as Json;
export const asRow = (value: Json | undefined): OutboxRow | undefined =>
  value as unknown as OutboxRow | undefined;
