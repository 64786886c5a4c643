import type { IncomingMessage, ServerResponse } from 'node:http';
import { isRunEvent, type StreamEvent, streamOf } from '../../agent/log/read-log.ts';
import type { Clock } from '../../lib/clock.ts';
import { createTurnstile } from '../../lib/semaphore.ts';
import { RUN_SUMMARY_TYPES } from '../../log/run-summary.ts';
import { SUMMARY_TYPES } from '../../log/session-summary.ts';
import {
  type BroadcastConnection,
  createBroadcast,
  type Follower,
  KEEP_ALIVE,
  noticeFrame,
  openConnection,
  plainFrame,
} from './broadcast.ts';
import { type Channel, type ChannelStreamRef, createChannel } from './channel.ts';
import { createNewsOfOthers } from './news-of-others.ts';
import { logTooShort, nothingToFollow, serverClosing, tooManyStreams } from './stream-errors.ts';
import {
  createPulse,
  type HeadlinesDeps,
  STREAM_LIMITS,
  type StreamLimits,
  type StreamRuntime,
} from './stream-source.ts';

export interface StreamsDeps {
  readonly runtime: StreamRuntime;
  readonly clock: Clock;
  readonly limits?: Partial<StreamLimits>;
  /** Receives errors that no client can be sent, such as an unreadable store. */
  readonly onError: (thrown: unknown) => void;
}

/** How often clients are checked for silence, and for not reading. */
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
  const connections = new Set<BroadcastConnection>();
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

  const look = (connection: BroadcastConnection, now: number) => {
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

  const enter = (ref: ChannelStreamRef): KeptChannel => {
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
      forget(channel); // there is no such stream, or the store failed
      throw thrown;
    }
  };

  const leave = (kept: KeptChannel) => {
    kept.clients--;
    if (kept.clients === 0) forget(kept.channel);
  };

  /** Counts the client, and handles errors that occur after the response has started. */
  const connected = async (
    request: IncomingMessage,
    response: ServerResponse,
    follow: (connection: BroadcastConnection) => Promise<void>,
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

/** Whether the client disconnected before there was a response. */
const isGone = (request: IncomingMessage, response: ServerResponse) =>
  request.socket.destroyed || response.destroyed;

/**
 * A browser's EventSource reconnects whenever a stream ends, unless it gets a 204. Only a client that has all events of
 * a finished stream gets that.
 */
const hasAll = ({ headers }: IncomingMessage, after: number, { place }: Channel) =>
  headers['last-event-id'] !== undefined && place.isOver && after >= place.head;

const tooSlow = (patienceMs: number) =>
  ({
    kind: 'dropped',
    reason: `Nothing was read for ${patienceMs / 1000} s. Reconnect with the id of the last event.`,
  }) as const;

/**
 * Events that change any list, for all sessions and runs of the store. They cannot be resumed: a client that lists
 * after `ready` misses nothing, but may receive an event that its list already includes.
 */
export interface Headlines {
  /** Receives an event that was committed in this process. */
  told(event: StreamEvent): void;
  /** Serves one client until it disconnects. */
  follow(connection: BroadcastConnection): Promise<void>;
  close(): void;
}

function createHeadlines(deps: HeadlinesDeps): Headlines {
  const { limits, pulse } = deps;
  const broadcast = createBroadcast('', pulse, limits.maxClientBytes);
  const push = (event: StreamEvent) => {
    if (broadcast.size === 0) return;
    const types: ReadonlySet<string> = isRunEvent(event) ? RUN_SUMMARY_TYPES : SUMMARY_TYPES;
    if (types.has(event.type)) broadcast.push(plainFrame(JSON.stringify(event)), undefined);
  };
  const others = createNewsOfOthers(deps, push);
  let clients = 0;

  return {
    told(event) {
      if (clients === 0) return;
      others.isKnown(streamOf(event), event.seq);
      push(event);
    },
    async follow(connection) {
      let wake: () => void = () => undefined;
      const isLeft = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const follower = { connection, live: true, position: 0, onFull: () => wake() };
      void connection.closed.then(() => wake());
      clients++;
      try {
        await others.begun();
        broadcast.add(follower);
        connection.send(noticeFrame({ kind: 'ready' }));
        await isLeft;
        await connection.drained();
        connection.end(
          noticeFrame({ kind: 'dropped', reason: 'Some events were missed. Load the list again.' }),
        );
      } finally {
        broadcast.remove(follower);
        clients--;
        if (clients === 0) others.stop();
      }
    },
    close: others.stop,
  };
}

/** A page is sent in pieces of this size, so that a slow client can be seen to read them. */
const PIECE_BYTES = 64 * 1024;

export interface StreamsFollowOptions {
  /** The seq of the last event the client has. A number beyond the end of the log counts as its end. */
  readonly after: number;
  readonly live: boolean;
}

/**
 * Serves one client of a channel. Events it lacks are read from the log, then it follows. A client that falls behind is
 * paused until it has read what is waiting, and then reads from the log again. Live events in between are lost to it.
 */
async function followChannel(
  channel: Channel,
  connection: BroadcastConnection,
  { after, live }: StreamsFollowOptions,
): Promise<void> {
  let wake: () => void = () => undefined;
  const follower: Follower = {
    connection,
    live,
    position: Math.min(after, channel.place.head),
    onFull: () => wake(),
  };
  void connection.closed.then(() => wake());
  try {
    while (connection.isOpen) {
      const isLeft = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await readUp(channel, follower);
      if (!connection.isOpen || !channel.join(follower)) continue;
      await isLeft;
      await connection.drained();
    }
  } finally {
    channel.leave(follower);
  }
}

/** Sends the log up to the channel's head, which advances meanwhile. */
async function readUp(channel: Channel, follower: Follower): Promise<void> {
  const { connection } = follower;
  const page = channel.pages();
  while (connection.isOpen && follower.position < channel.place.head) {
    const lines = await page(follower.position + 1);
    // Events after the head are sent to all followers.
    const mine = lines.slice(0, channel.place.head - follower.position);
    if (mine.length === 0) throw logTooShort(channel.place.stream, follower.position + 1, follower.position);
    let frames = '';
    for (const line of mine) frames += channel.frameOf(++follower.position, line);
    await feed(connection, frames);
  }
}

async function feed(connection: BroadcastConnection, frames: string): Promise<void> {
  const bytes = Buffer.from(frames);
  for (let at = 0; at < bytes.length && connection.isOpen; at += PIECE_BYTES)
    if (!connection.feed(bytes.subarray(at, at + PIECE_BYTES))) await connection.drained();
}

/**
 * Event streams to clients (SSE). They use the raw response, because a framework's stream costs three times as much.
 */
export interface Streams {
  /**
   * Sends the events of a session or run: first those on the log after `after`, then new ones as they happen, without
   * gaps or repetitions. `id` is the seq. Live events have no id, and deltas that are close together may be merged. A
   * client that joins in the middle of an output, or missed some, gets a `live.snapshot`. The stream ends with `event:
   * end`. `event: notice` explains an earlier end: `closing`, `dropped` (the client was too slow) or `failed` (the log
   * cannot be read). The client may then reconnect with the last id. A browser that reconnects with `Last-Event-ID` to
   * a finished stream and has all of it gets a 204. Resolves once the response is finished. Rejects before anything is
   * sent with `session_unknown`, `run_unknown`, `too_many_streams` or `closing`.
   */
  serve(
    request: IncomingMessage,
    response: ServerResponse,
    of: {
      readonly kind: 'session' | 'run';
      readonly stream: string;
      /** The seq of the last event the client has. A number beyond the end of the log counts as its end. */
      readonly after: number;
      /** Whether to send deltas and progress. */
      readonly live: boolean;
    },
  ): Promise<void>;
  /**
   * Sends the headlines of all sessions and runs of the store: the events that `foldSummary` and `foldRunSummary` use.
   * It cannot be resumed. After the notice `ready` nothing is missed, so a client that then loads a list has
   * everything, and ignores what its list includes.
   */
  headlines(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The number of open connections. */
  readonly clients: number;
  /** Tells all clients that the server is closing, and ends their streams. */
  close(): Promise<void>;
}
