/** What a channel takes in a minute; the rest is one message behind them. */
const PER_MINUTE = 20;
const WINDOW_MS = 60_000;
/** Channels whose pace is remembered. */
const MAX_CHANNELS = 1_000;

/** Where one more stands: sent by itself, or counted with others. */
export type Turn =
  | { readonly kind: 'own' }
  /** `since` names the minute, `until` is its end. */
  | { readonly kind: 'counted'; readonly since: number; readonly until: number };

/** How much each channel is told. */
export interface Pace {
  take(channel: string, now: number): Turn;
}

/** Counts a minute from its first message on. A failing loop tells somebody twenty times and once, not thousands of times. */
export function createPace(): Pace {
  const windows = new Map<string, { readonly since: number; count: number }>();
  return {
    take(channel, now) {
      let window = windows.get(channel);
      if (window === undefined || now - window.since >= WINDOW_MS || now < window.since) {
        window = { since: now, count: 0 };
        windows.delete(channel);
        windows.set(channel, window);
        const [oldest] = windows.keys();
        if (windows.size > MAX_CHANNELS && oldest !== undefined) windows.delete(oldest);
      }
      window.count++;
      if (window.count <= PER_MINUTE) return { kind: 'own' };
      return { kind: 'counted', since: window.since, until: window.since + WINDOW_MS };
    },
  };
}
