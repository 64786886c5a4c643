import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../kernel/clock.ts';
import { createTurnstile } from '../../kernel/turnstile.ts';
import { streamOf } from '../../session/log/stream-event.ts';
import { type Channel, createChannel, type StreamRef } from './channel.ts';
import { type Connection, openConnection } from './connection.ts';
import { followChannel } from './follow-channel.ts';
import { KEEP_ALIVE, noticeFrame } from './frames.ts';
import { createHeadlines } from './headlines.ts';
import { createPulse } from './pulse.ts';
import { nothingToFollow, serverClosing, tooManyStreams } from './stream-errors.ts';
import { STREAM_LIMITS, type StreamLimits } from './stream-limits.ts';
import type { StreamRuntime } from './stream-source.ts';
import type { Streams } from './streams.ts';

export interface StreamsDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly limits?: Partial<StreamLimits>;
  /** What no client can be told of: a store that cannot be read. */
  readonly onError: (thrown: unknown) => void;
}

/** How often clients are looked at: those that are silent, and those that do not read. */
const SWEEP_MS = 1_000;

interface KeptChannel {
  readonly channel: Channel;
  clients: number;
}

export function createStreams({ runtime, clock, limits: given, onError }: StreamsDeps): Streams {
  const limits: StreamLimits = { ...STREAM_LIMITS, ...given };
  const waiting = { bytes: 0 };
  const pulse = createPulse(clock, limits);
  const turnstile = createTurnstile(limits.maxReads);
  const connections = new Set<Connection>();
  const channels = new Map<string, KeptChannel>();
  const headlines = createHeadlines({ runtime, clock, limits, pulse, turnstile, onError });
  let clients = 0;
  let isClosing = false;
  let unwatch: (() => void) | undefined;
  let stopSweep: (() => void) | undefined;

  const watch = () => {
    unwatch ??= runtime.watch((event) => {
      channels.get(streamOf(event))?.channel.told(event);
      headlines.told(event);
    });
    stopSweep ??= clock.after(SWEEP_MS, sweep);
  };

  const sweep = () => {
    const now = clock.monotonic();
    for (const connection of connections) look(connection, now);
    stopSweep = undefined;
    if (clients > 0) stopSweep = clock.after(SWEEP_MS, sweep);
    else {
      unwatch?.();
      unwatch = undefined;
    }
  };

  const look = (connection: Connection, now: number) => {
    connection.look();
    const { isOpen, stuckSince, writtenAt } = connection;
    if (!isOpen) {
      if (now - writtenAt >= limits.farewellMs) connection.destroy();
    } else if (stuckSince !== undefined) {
      if (now - stuckSince >= limits.patienceMs) connection.end(noticeFrame(tooSlow(limits.patienceMs)));
    } else if (now - writtenAt >= limits.keepAliveMs) connection.send(KEEP_ALIVE);
  };

  const forget = (channel: Channel) => {
    channel.close();
    const { stream } = channel.place;
    if (channels.get(stream)?.channel === channel) channels.delete(stream);
  };

  const enter = (ref: StreamRef): KeptChannel => {
    const found = channels.get(ref.stream);
    if (found?.channel.place.kind === ref.kind) return found;
    if (found !== undefined) throw nothingToFollow(ref.kind, ref.stream, runtime.store.location);
    const channel = createChannel({ runtime, clock, limits, pulse, turnstile, onError }, ref);
    const kept = { channel, clients: 0 };
    channels.set(ref.stream, kept);
    return kept;
  };

  const opened = async (channel: Channel) => {
    try {
      await channel.opened;
    } catch (thrown) {
      forget(channel); // there is no such stream, or the store did not say
      throw thrown;
    }
  };

  const leave = (kept: KeptChannel) => {
    kept.clients--;
    if (kept.clients === 0) forget(kept.channel);
  };

  /** Counts the client, and hears of what goes wrong once it was answered. */
  const connected = async (
    request: IncomingMessage,
    response: ServerResponse,
    follow: (connection: Connection) => Promise<void>,
  ) => {
    const connection = openConnection(request, response, { clock, limits, waiting });
    connections.add(connection);
    try {
      await follow(connection);
    } catch (thrown) {
      onError(thrown);
      connection.end(noticeFrame({ kind: 'failed', reason: 'The log could not be read.' }));
    }
    await connection.closed;
    connections.delete(connection);
  };

  const admitted = async (work: () => Promise<void>) => {
    if (isClosing) throw serverClosing();
    if (clients >= limits.maxClients) throw tooManyStreams(limits.maxClients);
    clients++;
    watch();
    try {
      await work();
    } finally {
      clients--;
    }
  };

  return {
    get clients() {
      return clients;
    },
    serve: (request, response, of) =>
      admitted(async () => {
        const kept = enter(of);
        const { channel } = kept;
        kept.clients++;
        try {
          await opened(channel);
          if (isGone(request, response)) return;
          if (isClosing) throw serverClosing();
          if (hasAll(request, of.after, channel)) response.writeHead(204).end();
          else await connected(request, response, (connection) => followChannel(channel, connection, of));
        } finally {
          leave(kept);
        }
      }),
    headlines: (request, response) => admitted(() => connected(request, response, headlines.follow)),
    async close() {
      isClosing = true;
      const closing = noticeFrame({ kind: 'closing' });
      for (const connection of connections) connection.end(closing);
      const stopWaiting = clock.after(limits.farewellMs, () => {
        for (const connection of connections) connection.destroy();
      });
      await Promise.all([...connections].map(({ closed }) => closed));
      stopWaiting();
      stopSweep?.();
      unwatch?.();
      pulse.stop();
      headlines.close();
      for (const { channel } of channels.values()) forget(channel);
    },
  };
}

/** Whoever asked left before there was an answer. */
const isGone = (request: IncomingMessage, response: ServerResponse) =>
  request.socket.destroyed || response.destroyed;

/**
 * A browser's EventSource comes back by itself whenever a stream ends: 204 is how it is told not to. Only one that has all
 * of a stream that is over hears that.
 */
const hasAll = ({ headers }: IncomingMessage, after: number, { place }: Channel) =>
  headers['last-event-id'] !== undefined && place.isOver && after >= place.head;

const tooSlow = (patienceMs: number) =>
  ({
    kind: 'dropped',
    reason: `Nothing was read for ${patienceMs / 1000} s. Come back with the id of the last event.`,
  }) as const;
