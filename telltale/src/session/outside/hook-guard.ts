import { createHash } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { isJsonObject, type Json } from '../../kernel/json.ts';
import type { Tables } from '../../store/store.ts';
import type { HookSignature } from '../../triggers/outside-triggers.ts';
import { hookInHand, hookReplayed } from './hook-errors.ts';
import type { SignedDelivery } from './hook-signature.ts';

const TABLE = 'hooks';
const DAY_MS = 86_400_000;
/**
 * How long what was accepted is remembered. A stamped message is too old after 5 minutes anyway, but an honest sender
 * that heard no answer stamps it anew for hours. Without a stamp nothing else keeps an old one from being sent again.
 */
const REMEMBERED_MS: Readonly<Record<HookSignature, number>> = { standard: DAY_MS, github: 30 * DAY_MS };
/** How long whoever takes a message has for starting its run before another takes it to be dead. */
const CLAIM_MS = 30_000;
/** When one was claimed that nobody holds any more. */
const UNCLAIMED = 0;
/** Between two looks a row may come and go. */
const MAX_TRIES = 10;

export type Taken =
  | {
      readonly kind: 'first';
      /** When somebody first took it, who may have died since: its run's id follows from it. */
      readonly since: number;
      /** From now on it is known, and `run` is what came of it. */
      over(run: string | undefined): Promise<void>;
      /**
       * It may be sent again. What came of it may not be known, where the store went away meanwhile: whoever takes it next
       * is given the same `since`, so that the log refuses a second run.
       */
      release(): Promise<void>;
    }
  | { readonly kind: 'known'; readonly run?: string };

export interface HookGuard {
  /**
   * Takes a delivery, once over all processes of a store. Rejects with `hook_replayed` where its id stood for something
   * else, and while another is taking it.
   */
  take(hook: string, scheme: HookSignature, delivery: SignedDelivery): Promise<Taken>;
}

interface Row {
  readonly body: string;
  readonly since: number;
  /** When it was claimed. */
  readonly at: number;
  readonly over?: true;
  readonly run?: string;
}

export function createHookGuard(tables: Tables, clock: Pick<Clock, 'now'>, agent: string): HookGuard {
  return {
    async take(hook, scheme, delivery) {
      const keys = keysOf(agent, hook, scheme, delivery).map((key) => ({ table: TABLE, key }));
      const ttlMs = REMEMBERED_MS[scheme];
      /** Who took longer than a claim counts has lost it to another, whose word it is now. */
      const settle = (row: Row, settled: Row) =>
        tables.exchange(
          keys.map((key) => ({ ...key, value: row as unknown as Json })),
          keys.map((key) => ({ ...key, value: settled as unknown as Json, ttlMs })),
        );
      const first = (row: Row): Taken => ({
        kind: 'first',
        since: row.since,
        async over(run) {
          await settle(row, { ...row, over: true, ...(run === undefined ? {} : { run }) });
        },
        async release() {
          await settle(row, { ...row, at: UNCLAIMED });
        },
      });
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const found = await Promise.all(keys.map(({ table, key }) => tables.get(table, key)));
        const rows = found.flatMap((value) => readRow(value) ?? []);
        const now = clock.now();
        if (rows.some(({ body }) => body !== delivery.bodyHash)) throw hookReplayed(hook, delivery.id ?? '');
        const done = rows.find(({ over }) => over === true);
        if (done !== undefined)
          return { kind: 'known', ...(done.run === undefined ? {} : { run: done.run }) };
        if (rows.some(({ at }) => at + CLAIM_MS > now)) throw hookInHand(hook);
        const row: Row = { body: delivery.bodyHash, since: rows[0]?.since ?? now, at: now };
        const isOurs = await tables.exchange(
          keys.map((key, n) => ({ ...key, value: found[n] })),
          keys.map((key) => ({ ...key, value: row as unknown as Json, ttlMs })),
        );
        if (isOurs) return first(row);
      }
      throw hookInHand(hook);
    },
  };
}

/** By its id, and where that is not signed by its body, too: anybody can write another id in front of it. */
function keysOf(
  agent: string,
  hook: string,
  scheme: HookSignature,
  { id, bodyHash }: SignedDelivery,
): readonly string[] {
  const key = (kind: string, what: string) =>
    `${agent}/${hook}/${kind}/${createHash('sha256').update(what).digest('base64url')}`;
  return [
    ...(id === undefined ? [] : [key('id', id)]),
    ...(scheme === 'standard' ? [] : [key('body', bodyHash)]),
  ];
}

function readRow(value: Json | undefined): Row | undefined {
  if (!isJsonObject(value)) return undefined;
  const { body, since, at, over, run } = value;
  if (typeof body !== 'string' || typeof since !== 'number' || typeof at !== 'number') return undefined;
  return { body, since, at, ...(over === true ? { over } : {}), ...(typeof run === 'string' ? { run } : {}) };
}
