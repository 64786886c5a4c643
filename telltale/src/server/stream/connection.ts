import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../kernel/clock.ts';
import { BEGINNING } from './frames.ts';
import type { StreamLimits } from './stream-limits.ts';

/** One client's response. Nothing is queued here: what is not in its socket is not kept. */
export interface Connection {
  /** False once it was ended, or the client is gone. */
  readonly isOpen: boolean;
  /** When it was last written to. */
  readonly writtenAt: number;
  /** Since when it has taken nothing of more than it may have waiting; undefined while it takes what it is sent. */
  readonly stuckSince: number | undefined;
  /** Sees whether it has taken some of what waits since the last look. */
  look(): void;
  /** False if the client is full now: it is not written to again until it has `drained`. */
  send(data: string | Uint8Array): boolean;
  /** As `send`, for what is read for this client alone: it is full as soon as it does not take it at once. */
  feed(data: string | Uint8Array): boolean;
  /** Resolves once the client has taken all that waited for it, or is gone. */
  drained(): Promise<void>;
  /** Sends a last word and ends the response. */
  end(last: string): void;
  /** Ends it without waiting for the client to read. */
  destroy(): void;
  /** Resolves once the response is over, however it ended. */
  readonly closed: Promise<void>;
}

export interface ConnectionDeps {
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** What waits in all sockets together. */
  readonly waiting: { bytes: number };
}

/**
 * After the head, data goes straight to the socket. A body without a length ends with its connection, so that what is
 * encoded once for all clients is, to the byte, what each of them gets: `response.write` would frame it for each client
 * anew, in four writes and a tick.
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
): Connection {
  /** Bytes that its socket has not taken yet. */
  let own = 0;
  /** What was left of that at the last look. */
  let left: Left = { writes: 0, inHand: 0 };
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
  // A request that was sent before the last one was answered has no socket yet.
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

  const connection: { -readonly [Key in keyof Connection]: Connection[Key] } = {
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

interface Left {
  /** Bytes of writes of which the system has not taken all. */
  readonly writes: number;
  /** What it has not taken of the one in hand. */
  readonly inHand: number;
}

/**
 * A socket's `writableLength` counts a write until all of it is gone, and one may be all that waits for a client; what is
 * left of it only the handle knows. Node's own time-outs of sockets ask it, too.
 */
const leftIn = ({ socket, writableLength }: ServerResponse): Left => ({
  writes: writableLength,
  inHand:
    (socket as { readonly _handle?: { readonly writeQueueSize?: number } | null } | null)?._handle
      ?.writeQueueSize ?? 0,
});

const isLess = (now: Left, before: Left): boolean =>
  now.writes < before.writes || (now.writes === before.writes && now.inHand < before.inHand);
