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
  /** Whether this process can send it at all. If not, it stays in the store and is checked again later. */
  readonly isOurs: (row: OutboxRow) => boolean;
  readonly deliver: (row: OutboxRow, signal: AbortSignal) => Delivered | Promise<Delivered>;
  readonly onError: (thrown: unknown) => void;
}

/** Sends notifications from the outbox when they are due. If several processes share a store, only one sends each. */
export interface NotifyDispatcher {
  /** Loads the notifications that wait in the store. */
  begin(): Promise<void>;
  /** Schedules a row that was added to the outbox. */
  add(row: OutboxRow): void;
  isFull(): boolean;
  /** Whether a channel has turned out not to work on this machine. */
  isUnusable(agent: string, channel: string): boolean;
  /** Stops sending, and returns unfinished notifications to the outbox. */
  close(): Promise<void>;
}

const MAX_WAITING = 1_000;
const AT_ONCE = 8;
/** Longer than any attempt takes. A process that claimed a row and has not settled it by then is dead. */
const LEASE_MS = 45_000;
/** The pause after a store error, and after a lost race. */
const AGAIN_MS = 2_000;
/** How often notifications for other processes are checked again. */
const OTHERS_MS = 60_000;

export function createDispatcher(deps: DispatcherDeps): NotifyDispatcher {
  const { outbox, clock, random, isOurs, deliver, onError } = deps;
  /** Waiting ids with the time of their next attempt. */
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
    if (row === undefined) return; // another process has sent it
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

  /**
   * Records the result, and repeats that until it succeeds, because a sent notification without a record would be sent
   * again.
   */
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
      await outbox.replace(leased, row); // it failed because this process is closing
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

/** The most messages a channel gets in a minute. The rest is combined into one more message. */
const PER_MINUTE = 20;
const WINDOW_MS = 60_000;
/**
 * How far in the future a stored minute may be, because the clocks of machines differ. If the other machine is gone,
 * messages counted in that minute wait this long.
 */
const MAX_AHEAD_MS = 10 * WINDOW_MS;
/** The most channels cached as full. For others the store is read. */
const MAX_CHANNELS = 1_000;

const TABLE = 'notify.pace';

/** How one more message is sent: by itself, or counted with others. */
export type DispatcherTurn =
  | { readonly kind: 'own' }
  /** `since` identifies the minute, `until` is its end. */
  | { readonly kind: 'counted'; readonly since: number; readonly until: number };

interface Window {
  readonly since: number;
  readonly count: number;
}

/** The key of a channel's limit. */
export const paceKey = ({ agent, channel }: { readonly agent: string; readonly channel: string }): string =>
  `${agent} ${channel}`;

/** Limits how much each channel gets, across all processes of a store. */
export interface DispatcherPace {
  /**
   * Decides in the order of calls. `over` is a minute whose message has already been sent, so it counts as over
   * whatever the clock says.
   */
  take(channel: string, over?: number): Promise<DispatcherTurn>;
}

/**
 * Counts a minute from its first message. A failing loop sends twenty messages and one more, not thousands. The minute
 * is stored, so other processes continue counting, also after a restart. That costs a read and a write for each of the
 * twenty, and nothing beyond them. The clocks of machines differ, so the clock that is furthest ahead determines the
 * minutes. A machine that is behind joins that minute, and starts the next one only after it.
 */
export function createPace(
  tables: Pick<Tables, 'get' | 'exchange'>,
  clock: Pick<Clock, 'now'>,
): DispatcherPace {
  /** When the minute started, and how long to trust that, because a minute in the future may have ended elsewhere. */
  const full = new Map<string, { readonly since: number; readonly until: number }>();
  /** The last call per channel. Two calls of one process at the same time would only conflict. */
  const asked = new Map<string, Promise<unknown>>();

  const remember = (channel: string, since: number, now: number) => {
    full.delete(channel);
    full.set(channel, { since, until: Math.min(since, now) + WINDOW_MS });
    const [oldest] = full.keys();
    if (full.size > MAX_CHANNELS && oldest !== undefined) full.delete(oldest);
  };

  /** Tries until it gets a place or the minute is full. Each conflict means that another process took a place. */
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

/** The stored minute, or the one after it. */
function windowAt(now: number, stored: Window | undefined, over: number | undefined): Window {
  if (stored === undefined || stored.since - now >= MAX_AHEAD_MS) return { since: now, count: 0 };
  const end = stored.since + WINDOW_MS;
  return now < end && stored.since !== over ? stored : { since: Math.max(now, end), count: 0 };
}

const asJson = (window: Window | undefined): Json | undefined => window as unknown as Json | undefined;
const asWindow = (value: Json | undefined): Window | undefined => value as unknown as Window | undefined;
