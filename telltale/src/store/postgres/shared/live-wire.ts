import { checkName } from '../../limits.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../../shared-store.ts';
import { liveTooLong } from '../postgres-errors.ts';
import type { Wire } from '../wire/wire.ts';

/** The live wire of the store, and what goes into it. */
export interface LiveEnds {
  readonly live: LiveWire;
  heard(topic: string, text: string): void;
  /** Messages may have been lost. */
  missed(): void;
}

type Listener = Parameters<LiveWire['listen']>[1];

const LIVE = 'l:';
/** Of a channel's name: it goes with every message, beside `MAX_LIVE_BYTES`. */
const MAX_CHANNEL_BYTES = 700;

export function createLiveEnds(wire: () => Wire): LiveEnds {
  const listeners = new Map<string, Set<Listener>>();
  const check = (channel: string) => {
    checkName('A channel', channel);
    const bytes = Buffer.byteLength(channel);
    if (bytes > MAX_CHANNEL_BYTES) throw liveTooLong(channel, bytes, MAX_CHANNEL_BYTES);
  };

  return {
    live: {
      send(channel, text) {
        check(channel);
        const bytes = Buffer.byteLength(text);
        if (bytes > MAX_LIVE_BYTES) throw liveTooLong(channel, bytes, MAX_LIVE_BYTES);
        // PostgreSQL has no NUL in a text; JSON, which this mostly is, has none either.
        if (wire().isHeard(LIVE + channel)) wire().live(LIVE + channel, text.replaceAll('\0', '\ufffd'));
      },
      isHeard: (channel) => wire().isHeard(LIVE + channel),
      listen(channel, listener) {
        check(channel);
        const topic = LIVE + channel;
        const own = { heard: listener.heard.bind(listener), gap: listener.gap.bind(listener) };
        const others = listeners.get(topic) ?? new Set();
        listeners.set(topic, others.add(own));
        const end = wire().topics.add(topic, () => undefined);
        return () => {
          others.delete(own);
          if (others.size === 0 && listeners.get(topic) === others) listeners.delete(topic);
          end();
        };
      },
    },
    heard(topic, text) {
      for (const { heard } of [...(listeners.get(topic) ?? [])]) heard(text);
    },
    missed() {
      for (const some of [...listeners.values()]) for (const { gap } of [...some]) gap();
    },
  };
}
