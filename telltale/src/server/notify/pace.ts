import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import type { Tables } from '../../store/store.ts';

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
export type Turn =
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
export interface Pace {
  /** In the order in which it is asked. `over` names a minute whose message has gone out: it is over, whatever the clock says. */
  take(channel: string, over?: number): Promise<Turn>;
}

/**
 * Counts a minute from its first message on. A failing loop tells somebody twenty times and once, not thousands of
 * times. The minute is the store's, so that others, and whoever comes after a restart, count on. That is a read and a
 * write for each of the twenty; what is beyond them costs nothing.
 *
 * Clocks of machines differ: the minutes are those of the clock that is furthest ahead. Who is behind joins the minute
 * that lies ahead, and begins the next one behind it, not before.
 */
export function createPace(tables: Pick<Tables, 'get' | 'exchange'>, clock: Pick<Clock, 'now'>): Pace {
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
  const takeOne = async (channel: string, over: number | undefined): Promise<Turn> => {
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

const counted = (since: number): Turn => ({ kind: 'counted', since, until: since + WINDOW_MS });

/** The minute that is stored, or the one behind it. */
function windowAt(now: number, stored: Window | undefined, over: number | undefined): Window {
  if (stored === undefined || stored.since - now >= MAX_AHEAD_MS) return { since: now, count: 0 };
  const end = stored.since + WINDOW_MS;
  return now < end && stored.since !== over ? stored : { since: Math.max(now, end), count: 0 };
}

const asJson = (window: Window | undefined): Json | undefined => window as unknown as Json | undefined;
const asWindow = (value: Json | undefined): Window | undefined => value as unknown as Window | undefined;
