import { randomUUID } from 'node:crypto';
import { type Clock, sleep } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { Tables } from '../../store/store.ts';
import type { Delivered } from './channels.ts';
import { MAX_TRIES, pauseAfter } from './channels.ts';
import type { Outbox, OutboxRow } from './outbox.ts';

export interface DispatcherDeps {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random: () => number;
  /** Whether it can be sent from here at all; else it is left where it is, and looked at again later. */
  readonly isOurs: (row: OutboxRow) => boolean;
  readonly deliver: (row: OutboxRow, signal: AbortSignal) => Delivered | Promise<Delivered>;
  readonly onError: (thrown: unknown) => void;
}

/** Sends what is in the outbox when it is due. Of several processes on one store, one sends each. */
export interface NotifyDispatcher {
  /** Takes up what waits in the store. */
  begin(): Promise<void>;
  /** Hears of a row that was put there. */
  add(row: OutboxRow): void;
  isFull(): boolean;
  /** Whether a channel turned out not to work on this machine at all. */
  isUnusable(agent: string, channel: string): boolean;
  /** Stops what is being sent, and puts it back. */
  close(): Promise<void>;
}

const MAX_WAITING = 1_000;
const AT_ONCE = 8;
/** Longer than any try takes: whoever claimed a row and has not settled it by then is dead. */
const LEASE_MS = 45_000;
/** After a store that failed, and after a race that was lost. */
const AGAIN_MS = 2_000;
/** What is for others to send is looked at again after that. */
const OTHERS_MS = 60_000;

export function createDispatcher(deps: DispatcherDeps): NotifyDispatcher {
  const { outbox, clock, random, isOurs, deliver, onError } = deps;
  /** Ids that wait, each with when it is to be looked at. */
  const due = new Map<string, number>();
  const sending = new Set<Promise<void>>();
  const unusable = new Set<string>();
  const closing = new AbortController();
  const me = randomUUID();
  let disarm: () => void = () => undefined;

  const arm = () => {
    disarm();
    if (closing.signal.aborted || due.size === 0 || sending.size >= AT_ONCE) return;
    const waitMs = Math.min(...due.values()) - clock.now();
    if (waitMs > 0) disarm = clock.after(waitMs, pump);
    else pump();
  };
  const pump = () => {
    const now = clock.now();
    for (const [id, at] of due) {
      if (sending.size >= AT_ONCE || closing.signal.aborted) break;
      if (at > now) continue;
      due.delete(id);
      const done = attempt(id)
        .catch((thrown) => {
          if (closing.signal.aborted) return;
          onError(thrown);
          due.set(id, clock.now() + AGAIN_MS);
        })
        .finally(() => {
          sending.delete(done);
          arm();
        });
      sending.add(done);
    }
    arm();
  };

  const attempt = async (id: string): Promise<void> => {
    const row = await outbox.get(id, 'waiting');
    if (row === undefined) return; // somebody else has sent it
    const now = clock.now();
    const heldUntil = row.lease !== undefined && row.lease.by !== me ? row.lease.until : 0;
    const later = Math.max(row.nextAt, heldUntil);
    if (later > now) {
      due.set(id, later);
      return;
    }
    if (!isOurs(row)) {
      due.set(id, now + OTHERS_MS);
      return;
    }
    const leased: OutboxRow = { ...row, lease: { by: me, until: now + LEASE_MS } };
    if (!(await outbox.replace(row, leased))) {
      due.set(id, now + AGAIN_MS);
      return;
    }
    const delivered = await deliver(leased, closing.signal);
    await settle(leased, delivered);
  };

  /** What was sent and is not known to be would be sent again: it is tried until it is written down. */
  const settle = async (leased: OutboxRow, delivered: Delivered): Promise<void> => {
    for (;;) {
      try {
        await write(leased, delivered);
        return;
      } catch (thrown) {
        if (closing.signal.aborted) throw thrown;
        onError(thrown);
        await sleep(clock, AGAIN_MS, closing.signal);
      }
    }
  };

  const write = async (leased: OutboxRow, delivered: Delivered): Promise<void> => {
    const { lease: _lease, error: _before, ...row } = leased;
    const tried = { ...row, attempts: row.attempts + 1, tries: row.tries + 1 };
    const now = clock.now();
    if (delivered.kind === 'sent') {
      unusable.delete(`${row.agent} ${row.channel}`);
      await outbox.move(leased, 'waiting', { ...tried, endedAt: now }, 'sent');
      return;
    }
    if (closing.signal.aborted) {
      await outbox.replace(leased, row); // it was we who ended it
      return;
    }
    const { error } = delivered;
    if (delivered.kind === 'unusable') unusable.add(`${row.agent} ${row.channel}`);
    const pause =
      delivered.kind === 'failed' ? pauseAfter(tried.tries, random(), delivered.afterMs) : undefined;
    if (pause === undefined) {
      const given = tried.tries >= MAX_TRIES && delivered.kind === 'failed';
      const why = given ? `${error} It was tried ${tried.tries} times.` : error;
      await outbox.move(leased, 'waiting', { ...tried, error: why, endedAt: now }, 'dead');
      return;
    }
    const next = { ...tried, error, nextAt: now + pause };
    if (await outbox.replace(leased, next)) due.set(row.id, next.nextAt);
  };

  const add = ({ id, nextAt }: OutboxRow) => {
    due.set(id, nextAt);
    arm();
  };

  return {
    async begin() {
      for (const row of await outbox.waiting(MAX_WAITING)) add(row);
    },
    add,
    isFull: () => due.size >= MAX_WAITING,
    isUnusable: (agent, channel) => unusable.has(`${agent} ${channel}`),
    async close() {
      disarm();
      closing.abort(new Error('The server closes.'));
      await Promise.all(sending);
    },
  };
}

/** What a channel takes in a minute; the rest is one message behind them. */
const PER_MINUTE = 20;
const WINDOW_MS = 60_000;
/**
 * So far ahead a minute may lie that counts here: whoever began it has another clock. What is counted in it waits as
 * long if that machine is gone.
 */
const MAX_AHEAD_MS = 10 * WINDOW_MS;
/** Channels whose minute is remembered to be full; of others the store is asked. */
const MAX_CHANNELS = 1_000;

const TABLE = 'notify.pace';

/** Where one more stands: sent by itself, or counted with others. */
export type DispatcherTurn =
  | { readonly kind: 'own' }
  /** `since` names the minute, `until` is its end. */
  | { readonly kind: 'counted'; readonly since: number; readonly until: number };

interface Window {
  readonly since: number;
  readonly count: number;
}

/** Whose pace it is. */
export const paceKey = ({ agent, channel }: { readonly agent: string; readonly channel: string }): string =>
  `${agent} ${channel}`;

/** How much each channel is told, by all processes of a store together. */
export interface DispatcherPace {
  /** In the order in which it is asked. `over` names a minute whose message has gone out: it is over, whatever the clock says. */
  take(channel: string, over?: number): Promise<DispatcherTurn>;
}

/**
 * Counts a minute from its first message on. A failing loop tells somebody twenty times and once, not thousands of
 * times. The minute is the store's, so that others, and whoever comes after a restart, count on. That is a read and a
 * write for each of the twenty; what is beyond them costs nothing.
 *
 * Clocks of machines differ: the minutes are those of the clock that is furthest ahead. Who is behind joins the minute
 * that lies ahead, and begins the next one behind it, not before.
 */
export function createPace(
  tables: Pick<Tables, 'get' | 'exchange'>,
  clock: Pick<Clock, 'now'>,
): DispatcherPace {
  /** Since when, and how long that is believed: a minute that lies ahead may have ended elsewhere. */
  const full = new Map<string, { readonly since: number; readonly until: number }>();
  /** The last that was asked for: two of one process at once would only get in each other's way. */
  const asked = new Map<string, Promise<unknown>>();

  const remember = (channel: string, since: number, now: number) => {
    full.delete(channel);
    full.set(channel, { since, until: Math.min(since, now) + WINDOW_MS });
    const [oldest] = full.keys();
    if (full.size > MAX_CHANNELS && oldest !== undefined) full.delete(oldest);
  };

  /** Whoever changes the minute in between takes a place: after twenty of them it is full. */
  const takeOne = async (channel: string, over: number | undefined): Promise<DispatcherTurn> => {
    for (;;) {
      const now = clock.now();
      const known = full.get(channel);
      if (known !== undefined && now < known.until && known.since !== over) return counted(known.since);
      const stored = asWindow(await tables.get(TABLE, channel));
      const window = windowAt(now, stored, over);
      if (window.count >= PER_MINUTE) {
        remember(channel, window.since, now);
        return counted(window.since);
      }
      const next = { since: window.since, count: window.count + 1 };
      const at = { table: TABLE, key: channel };
      const isTaken = await tables.exchange(
        [{ ...at, value: asJson(stored) }],
        [{ ...at, value: asJson(next), ttlMs: 2 * WINDOW_MS }],
      );
      if (isTaken) return { kind: 'own' };
    }
  };

  return {
    take(channel, over) {
      const turn = (asked.get(channel) ?? Promise.resolve()).then(() => takeOne(channel, over));
      const settled: Promise<unknown> = turn
        .catch(() => undefined)
        .then(() => {
          if (asked.get(channel) === settled) asked.delete(channel);
        });
      asked.set(channel, settled);
      return turn;
    },
  };
}

const counted = (since: number): DispatcherTurn => ({ kind: 'counted', since, until: since + WINDOW_MS });

/** The minute that is stored, or the one behind it. */
function windowAt(now: number, stored: Window | undefined, over: number | undefined): Window {
  if (stored === undefined || stored.since - now >= MAX_AHEAD_MS) return { since: now, count: 0 };
  const end = stored.since + WINDOW_MS;
  return now < end && stored.since !== over ? stored : { since: Math.max(now, end), count: 0 };
}

const asJson = (window: Window | undefined): Json | undefined => window as unknown as Json | undefined;
const asWindow = (value: Json | undefined): Window | undefined => value as unknown as Window | undefined;
