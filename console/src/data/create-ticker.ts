import { createStore, type Readable } from './readable.ts';

const TICK_MS = 1_000;

/** The time. The clock is read once a second while anybody subscribes. */
export function createTicker(clock: () => number): Readable<number> {
  const time = createStore(clock());
  let watchers = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    get: time.get,
    subscribe(changed) {
      const end = time.subscribe(changed);
      if (watchers++ === 0) {
        // The time stood still without subscribers.
        time.set(clock());
        timer = setInterval(() => time.set(clock()), TICK_MS);
      }
      return () => {
        end();
        if (--watchers === 0) clearInterval(timer);
      };
    },
  };
}
