import { Buffer } from 'node:buffer';
import type { Runtime } from '../../../src/agent/runtime-types.ts';
import { type LiveWire, MAX_LIVE_BYTES, type SharedStore } from '../../../src/store/shared-store.ts';

interface Sent {
  readonly channel: string;
  readonly text: string;
}

/** Several processes on one wire, in memory. Messages come in order and a moment later, as over a network. */
export interface FakeWire {
  /** One process's end. */
  join(): LiveWire;
  /** Everything that was sent, in order. */
  readonly sent: readonly Sent[];
  /** Which messages are lost on the way. */
  loses: (sent: Sent) => boolean;
  /** Milliseconds that a message is on its way. */
  delayMs: number;
  /** Whether anybody listens to a channel. */
  isHeard(channel: string): boolean;
  /** Tells all that messages may have been lost. */
  gap(): void;
}

type Listener = Parameters<LiveWire['listen']>[1];

export function createFakeWire(): FakeWire {
  const listeners = new Set<{
    readonly end: object;
    readonly channel: string;
    readonly listener: Listener;
  }>();
  const sent: Sent[] = [];
  const wire: FakeWire = {
    sent,
    loses: () => false,
    delayMs: 0,
    isHeard: (channel) => [...listeners].some((each) => each.channel === channel),
    gap() {
      for (const { listener } of [...listeners]) listener.gap();
    },
    join() {
      const end = {};
      const others = (channel: string) =>
        [...listeners].filter((each) => each.end !== end && each.channel === channel);
      return {
        isHeard: (channel) => others(channel).length > 0,
        send(channel, text) {
          if (Buffer.byteLength(text) > MAX_LIVE_BYTES) throw new Error('A message is too long.');
          if (others(channel).length === 0) return;
          sent.push({ channel, text });
          if (wire.loses({ channel, text })) return;
          const deliver = () => {
            for (const { listener } of others(channel)) listener.heard(text);
          };
          if (wire.delayMs > 0) setTimeout(deliver, wire.delayMs);
          else setImmediate(deliver);
        },
        listen(channel, listener) {
          const own = { end, channel, listener };
          listeners.add(own);
          return () => listeners.delete(own);
        },
      };
    },
  };
  return wire;
}

/** The runtime as that of one of several machines. */
export const sharedOver = (runtime: Runtime, live: LiveWire): Runtime => ({
  ...runtime,
  store: {
    ...runtime.store,
    shared: { fleet: 'test', schema: 'test', live } as SharedStore, // what else it has is nobody's here
  },
});
