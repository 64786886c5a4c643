import type { IncomingMessage, ServerResponse } from 'node:http';
import { MAX_SHOWN, type OpenSpeech, speakerIn } from '../../agent/speech.ts';
import type { LiveSnapshot } from '../../client/client.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LiveEvent } from '../../log/event.ts';
import type { Gatherer, Pulse, StreamLimits } from './stream-source.ts';

/** A client that receives events as they happen. */
export interface Follower {
  readonly connection: BroadcastConnection;
  /** Whether it receives deltas and progress. */
  readonly live: boolean;
  /** The seq of the last event it was sent. */
  position: number;
  /** Called when it cannot take more, and is no longer a follower. */
  onFull(): void;
}

/**
 * Sends events to all followers of one stream. Each event is encoded once, and gathered events are one write per
 * client.
 */
export interface Broadcast {
  readonly size: number;
  add(follower: Follower): void;
  remove(follower: Follower): void;
  followers(): readonly Follower[];
  /** `seq` is undefined for frames that are not on the log. */
  push(frame: string, seq: number | undefined): void;
  pushLive(event: LiveEvent): void;
  /** Writes the gathered events now. */
  flush(): void;
}

/** `stream` is the session of the deltas. At most `maxGathered` characters wait to be written. */
export function createBroadcast(stream: string, pulse: Pulse, maxGathered: number): Broadcast {
  const followers = new Set<Follower>();
  const deltas = createMergedDeltas(stream);
  /** The number of followers that do not want live events. */
  let sober = 0;
  let all = '';
  let onLog = '';
  let seq = 0;

  const remove = (follower: Follower) => {
    if (followers.delete(follower) && !follower.live) sober--;
    broadcast.size = followers.size;
  };

  const flush = () => {
    all += deltas.close();
    if (all === '') return;
    const shared = followers.size - sober > 1 ? Buffer.from(all) : all;
    const sharedOnLog = sober > 1 ? Buffer.from(onLog) : onLog;
    all = '';
    onLog = '';
    for (const follower of followers) {
      const data = follower.live ? shared : sharedOnLog;
      if (data.length === 0) continue;
      const { connection } = follower;
      if (connection.isOpen) {
        follower.position = seq;
        if (connection.send(data)) continue;
        remove(follower);
        follower.onFull();
      } else remove(follower);
    }
  };
  const gatherer: Gatherer = { flushedAt: Number.NEGATIVE_INFINITY, isDue: false, flush };

  const soon = () => {
    if (all.length + deltas.length > maxGathered) flush();
    else pulse.soon(gatherer, followers.size);
  };

  const broadcast: Broadcast & { size: number } = {
    size: 0,
    add(follower) {
      flush(); // events gathered before are not for it
      followers.add(follower);
      broadcast.size = followers.size;
      seq = follower.position;
      if (!follower.live) sober++;
    },
    remove,
    followers: () => [...followers],
    push(frame, at) {
      all += deltas.close();
      all += frame;
      if (at !== undefined) {
        seq = at;
        if (sober > 0) onLog += frame;
      }
      soon();
    },
    pushLive(event) {
      all += deltas.add(event);
      soon();
    },
    flush,
  };
  return broadcast;
}

/**
 * Merges consecutive deltas of one element until they are written. Under load that means a fifth of the frames and half
 * of the bytes, for the same text.
 */
export interface MergedDeltas {
  /** The gathered characters. */
  readonly length: number;
  /** Returns the frames that come before this event because they cannot be merged with it. */
  add(event: LiveEvent): string;
  /** The frame of the gathered text. Empty if there is none. */
  close(): string;
}

export function createMergedDeltas(session: string): MergedDeltas {
  const frame = createLiveFrame(session);
  let open: LiveEvent | undefined;
  let text = '';

  const merged: MergedDeltas & { length: number } = {
    length: 0,
    add(event) {
      if (open !== undefined && isOne(open, event)) {
        text += event.text;
        merged.length += event.text.length;
        return '';
      }
      const before = merged.close();
      if (event.type === 'action.progress') return before + frame(event);
      open = event;
      text = event.text;
      merged.length = text.length;
      return before;
    },
    close() {
      if (open === undefined) return '';
      const closed = frame({ ...open, text } as LiveEvent);
      open = undefined;
      text = '';
      merged.length = 0;
      return closed;
    },
  };
  return merged;
}

type Delta = Exclude<LiveEvent, { readonly type: 'action.progress' }>;

const isOne = (open: LiveEvent, event: LiveEvent): event is Delta =>
  open.type === event.type &&
  open.turn === event.turn &&
  event.type !== 'action.progress' &&
  event.speaker === (open as Delta).speaker &&
  (event.type === 'response.delta' || event.depth === (open as typeof event).depth);

/** One client's response. Nothing is queued here: only what is in its socket is waiting. */
export interface BroadcastConnection {
  /** False once it was ended, or the client has disconnected. */
  readonly isOpen: boolean;
  /** When it was last written to. */
  readonly writtenAt: number;
  /** When the client stopped reading with more waiting than allowed. Undefined while it keeps up. */
  readonly stuckSince: number | undefined;
  /** Checks whether the client has read some of the waiting data since the last check. */
  look(): void;
  /** False if the client is full. It gets nothing more until it has `drained`. */
  send(data: string | Uint8Array): boolean;
  /** Like `send`, for data read for this client alone. It counts as full as soon as data has to wait. */
  feed(data: string | Uint8Array): boolean;
  /** Resolves once the client has read everything, or is gone. */
  drained(): Promise<void>;
  /** Sends a last frame and ends the response. */
  end(last: string): void;
  /** Ends it without waiting for the client. */
  destroy(): void;
  /** Resolves once the response is finished, for whatever reason. */
  readonly closed: Promise<void>;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** The bytes waiting in all sockets together. */
  readonly waiting: { bytes: number };
}

/**
 * After the headers, data goes directly to the socket. A body without a length ends with its connection, so data that
 * is encoded once can be sent to all clients unchanged. `response.write` would frame it for each client, in four writes
 * and a tick.
 */
const HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  connection: 'close',
};

export function openConnection(
  { socket }: IncomingMessage,
  response: ServerResponse,
  { clock, limits, waiting }: ConnectionDeps,
): BroadcastConnection {
  /** The bytes that its socket has not accepted yet. */
  let own = 0;
  /** What was left of them at the last check. */
  let left: BroadcastLeft = { writes: 0, inHand: 0 };
  let wake: (() => void) | undefined;
  let over: () => void = () => undefined;

  const count = (now: number) => {
    waiting.bytes += now - own;
    own = now;
  };
  const drain = () => {
    count(response.writableLength);
    connection.stuckSince = undefined;
    wake?.();
    wake = undefined;
  };
  // A pipelined request has no socket yet.
  const put = (data: string | Uint8Array) => (response.socket ?? response).write(data);
  const write = (data: string | Uint8Array, most: number): boolean => {
    connection.writtenAt = clock.monotonic();
    const willDrain = !put(data);
    const waits = response.writableLength;
    if (waits === 0 && own === 0) return true;
    count(waits);
    if (waiting.bytes > limits.maxWaitingBytes) connection.destroy();
    if (!willDrain || waits <= most) return true;
    if (connection.stuckSince === undefined) {
      connection.stuckSince = connection.writtenAt;
      left = leftIn(response);
    }
    return false;
  };
  const close = () => {
    connection.isOpen = false;
    socket.off('drain', drain);
    socket.off('close', close);
    count(0);
    connection.stuckSince = undefined;
    wake?.();
    over();
  };

  const connection: { -readonly [Key in keyof BroadcastConnection]: BroadcastConnection[Key] } = {
    isOpen: true,
    writtenAt: clock.monotonic(),
    stuckSince: undefined,
    look() {
      if (connection.stuckSince === undefined) return;
      const now = leftIn(response);
      if (isLess(now, left)) connection.stuckSince = clock.monotonic();
      left = now;
    },
    send: (data) => write(data, limits.maxClientBytes),
    feed: (data) => write(data, 0),
    drained: () =>
      new Promise((resolve) => {
        if (connection.isOpen && connection.stuckSince !== undefined) wake = resolve;
        else resolve();
      }),
    end(last) {
      if (!connection.isOpen) return;
      connection.isOpen = false;
      connection.writtenAt = clock.monotonic();
      put(last);
      response.end();
      wake?.();
    },
    destroy() {
      connection.isOpen = false;
      socket.destroy();
    },
    closed: new Promise((resolve) => {
      over = resolve;
    }),
  };

  socket.setTimeout(0);
  socket.on('drain', drain);
  socket.once('close', close);
  response.on('drain', drain);
  response.on('error', () => undefined); // the socket's 'close' follows, and is all that matters
  response.once('close', close);
  response.useChunkedEncodingByDefault = false;
  response.writeHead(200, HEAD);
  response.flushHeaders();
  connection.send(BEGINNING);
  return connection;
}

interface BroadcastLeft {
  /** The bytes of writes that the system has not completely accepted. */
  readonly writes: number;
  /** The bytes of the present write that it has not accepted. */
  readonly inHand: number;
}

/**
 * A socket's `writableLength` counts a write until it is completely sent, and one write may be all that is waiting.
 * Only the handle knows what is left of it. Node's own socket timeouts use it, too.
 */
const leftIn = ({ socket, writableLength }: ServerResponse): BroadcastLeft => ({
  writes: writableLength,
  inHand:
    (socket as { readonly _handle?: { readonly writeQueueSize?: number } | null } | null)?._handle
      ?.writeQueueSize ?? 0,
});

const isLess = (now: BroadcastLeft, before: BroadcastLeft): boolean =>
  now.writes < before.writes || (now.writes === before.writes && now.inHand < before.inHand);

/** The first bytes of every stream tell a browser how soon to reconnect. */
const BEGINNING = 'retry: 1000\n\n';
export const KEEP_ALIVE = ': still here\n\n';
/** Nothing more will come. */
export const END = 'event: end\ndata: {}\n\n';

/** A notice about the stream itself. After `ready`, no headline is missed. */
export type BroadcastNotice =
  | { readonly kind: 'ready' }
  /** The client was too slow, and may reconnect immediately. */
  | { readonly kind: 'dropped'; readonly reason: string }
  /** The client may reconnect, but not immediately. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'closing' };

export const noticeFrame = (notice: BroadcastNotice): string =>
  `event: notice\ndata: ${JSON.stringify(notice)}\n\n`;

/** An event on the log. It has no `event:` field, so that `onmessage` of an EventSource receives it. */
export const eventFrame = (seq: number, json: string): string => `id: ${seq}\ndata: ${json}\n\n`;

/** An event without an id. It leaves the client's last event id unchanged. */
export const plainFrame = (json: string): string => `data: ${json}\n\n`;

/** For clients that join in the middle or missed deltas. It replaces all earlier deltas. */
export function snapshotFrame(session: string, open: OpenSpeech): string {
  const { turn, thoughts, response } = open;
  const snapshot: LiveSnapshot = {
    type: 'live.snapshot',
    session,
    turn,
    thoughts: thoughts.map(({ depth, text }) => ({ depth, text: text.slice(-MAX_SHOWN) })),
    response: response.slice(-MAX_SHOWN),
    ...speakerIn(open),
  };
  return plainFrame(JSON.stringify(snapshot));
}

/** Deltas arrive by the thousand, so their JSON is assembled by hand, in half the time of `JSON.stringify`. */
function createLiveFrame(session: string): (event: LiveEvent) => string {
  const place = `,"session":${JSON.stringify(session)},"turn":`;
  const response = `data: {"type":"response.delta"${place}`;
  const thought = `data: {"type":"thought.delta"${place}`;
  const by = ({ speaker }: Delta) => (speaker === undefined ? '' : `,"speaker":${JSON.stringify(speaker)}`);
  return (event) => {
    switch (event.type) {
      case 'response.delta':
        return `${response}${event.turn},"text":${JSON.stringify(event.text)}${by(event)}}\n\n`;
      case 'thought.delta':
        return `${thought}${event.turn},"depth":${event.depth},"text":${JSON.stringify(event.text)}${by(event)}}\n\n`;
      case 'action.progress':
        return plainFrame(JSON.stringify(event));
    }
  };
}
