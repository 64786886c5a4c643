/** What a channel takes in a minute; the rest is one message behind them. */
export const PER_MINUTE = 20;
export const WINDOW_MS = 60_000;
/** Channels whose pace is remembered. */
const MAX_CHANNELS = 1_000;

/** Where one more stands: sent by itself, or counted with others. */
export type Turn =
  | { readonly kind: 'own' }
  /** `since` names the minute, `until` is its end. */
  | { readonly kind: 'counted'; readonly since: number; readonly until: number };

interface Window {
  readonly since: number;
  count: number;
}

/** Whose pace it is. */
export const paceKey = ({ agent, channel }: { readonly agent: string; readonly channel: string }): string =>
  `${agent} ${channel}`;

/** How much each channel is told. */
export interface Pace {
  take(channel: string, now: number): Turn;
  /** Takes up the minute that a process before this one had begun. */
  restore(channel: string, since: number, count: number): void;
}

/** Counts a minute from its first message on. A failing loop tells somebody twenty times and once, not thousands of times. */
export function createPace(): Pace {
  const windows = new Map<string, Window>();
  const begin = (channel: string, window: Window): Window => {
    windows.delete(channel);
    windows.set(channel, window);
    const [oldest] = windows.keys();
    if (windows.size > MAX_CHANNELS && oldest !== undefined) windows.delete(oldest);
    return window;
  };
  return {
    restore: (channel, since, count) => void begin(channel, { since, count }),
    take(channel, now) {
      let window = windows.get(channel);
      if (window === undefined || now - window.since >= WINDOW_MS || now < window.since)
        window = begin(channel, { since: now, count: 0 });
      window.count++;
      if (window.count <= PER_MINUTE) return { kind: 'own' };
      return { kind: 'counted', since: window.since, until: window.since + WINDOW_MS };
    },
  };
}
