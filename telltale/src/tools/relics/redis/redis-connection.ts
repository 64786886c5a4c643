import type { Clock } from '../../../lib/clock.ts';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { abortError, orAborted } from '../../abort.ts';
import { outputTooLarge, thrownMessage } from '../../output/output.ts';
import { relicBrokeOff, relicClosed, relicUnavailable } from '../relic-driver.ts';

export interface RedisCommand {
  readonly args: readonly string[];
  /** Whether it may be sent again if its outcome is unknown. */
  readonly mayRepeat: boolean;
}

/** One connection to a Redis server. Opened at the first command, and reopened by the first command after it broke. */
export interface RedisConnection {
  send(command: RedisCommand, signal: AbortSignal): Promise<Json>;
  close(): Promise<void>;
}

export interface RedisDeps {
  readonly what: string;
  readonly url: string;
  /** Without credentials. */
  readonly where: string;
  readonly clock: Clock;
}

const CONNECT_MS = 5_000;
/** No command here blocks in the server, so a server that is silent this long counts as gone. */
const ANSWER_MS = 10_000;
/** The most commands that may wait for a reply at the same time. */
const MAX_WAITING = 1_000;
/**
 * RESP types. Numbers are read as text, which keeps them exact beyond 2^53. Text is read as bytes, so that its size can
 * be checked first.
 */
const [NUMBER, BLOB] = [58, 36];

/** The part of the library's client that is used. */
interface Client {
  readonly isReady: boolean;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[], options: object): Promise<unknown>;
  destroy(): void;
}

interface OpenRedisClient {
  readonly client: Client;
  readonly isRefusal: (thrown: unknown) => boolean;
}

export function createRedisConnection({ what, url, where, clock }: RedisDeps): RedisConnection {
  let line: Promise<OpenRedisClient> | undefined;
  let isClosed = false;

  const drop = (broken: Promise<OpenRedisClient> | undefined, client: Client) => {
    if (line === broken) line = undefined;
    try {
      client.destroy();
    } catch (error) {
      if (!(error instanceof Error)) throw error; // it had closed by itself
    }
  };

  const connect = async (): Promise<OpenRedisClient> => {
    const { createClient, ErrorReply } = await import('@redis/client');
    const client: Client = createClient({
      url,
      RESP: 2,
      disableOfflineQueue: true,
      commandsQueueMaxLength: MAX_WAITING,
      disableClientInfo: true,
      // The next call connects again. Nothing reconnects in the background.
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
    });
    // Each command reports its own error. Without a listener, the event would end the process.
    client.on('error', () => undefined);
    try {
      await withDeadline(clock, CONNECT_MS, client.connect());
    } catch (thrown) {
      drop(line, client);
      throw relicUnavailable(what, where, thrownMessage(thrown), !(thrown instanceof ErrorReply));
    }
    if (isClosed) {
      drop(line, client);
      throw relicClosed(what);
    }
    return { client, isRefusal: (thrown) => thrown instanceof ErrorReply };
  };

  const ready = async (): Promise<readonly [OpenRedisClient, Promise<OpenRedisClient>]> => {
    const current = line;
    if (current !== undefined) {
      const connected = await current;
      if (connected.client.isReady) return [connected, current];
      drop(current, connected.client);
    }
    // Another call may have connected meanwhile.
    const made = line ?? connect();
    line = made;
    made.catch(() => {
      if (line === made) line = undefined;
    });
    return [await made, made];
  };

  return {
    async send({ args, mayRepeat }, signal) {
      if (isClosed) throw relicClosed(what);
      const [{ client, isRefusal }, through] = await orAborted(ready(), what, signal);
      if (signal.aborted) throw abortError(what, signal);
      const answer = client.sendCommand(args, { typeMapping: { [NUMBER]: String, [BLOB]: Buffer } });
      try {
        const reply = await orAborted(withDeadline(clock, ANSWER_MS, answer), what, signal);
        return replyJson(what, reply as Reply);
      } catch (thrown) {
        if (signal.aborted) throw abortError(what, signal);
        if (isRefusal(thrown)) throw redisRefused(what, args[0] ?? '', thrownMessage(thrown));
        if (thrown === NO_REPLY) drop(through, client);
        if (isUnsent(thrown)) throw relicUnavailable(what, where, thrownMessage(thrown));
        if (thrown instanceof Error && thrown.name !== 'RuntimeError')
          throw relicBrokeOff(what, where, thrownMessage(thrown), mayRepeat);
        throw thrown;
      }
    },
    async close() {
      isClosed = true;
      const connected = await line?.catch(() => undefined);
      if (connected !== undefined) drop(line, connected.client);
    },
  };
}

/** Whether the client refused a command before anything was written. */
const isUnsent = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  (thrown.constructor.name === 'ClientOfflineError' ||
    thrown.constructor.name === 'ClientClosedError' ||
    thrown.message === 'The queue is full');

const NO_REPLY = new Error('it does not answer');

async function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let cancel = () => {};
  const silence = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(NO_REPLY));
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    cancel();
    work.catch(() => undefined); // after the timeout its outcome no longer matters
  }
}

/** Errors of a server that will accept the command later. */
const TRANSIENT = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|OOM|MISCONF)\b/;

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/^WRONGTYPE\b/, 'The key holds another type of value. Use the operation for that type, or another key.'],
  [/^(NOAUTH|NOPERM|WRONGPASS)\b/, 'The user in "connection" may not do this.'],
  [/not an integer|not a valid float/, 'Only numbers can be counted up.'],
  [/^READONLY\b/, 'This is a replica. Point "connection" to the primary.'],
];

/** The error of a server that answered with one. */
const redisRefused = (what: string, command: string, message: string) =>
  new RuntimeError('redis_error', `The ${what} refused ${command}: ${message}`, {
    hint: HINTS.find(([pattern]) => pattern.test(message))?.[1],
    retryable: TRANSIENT.test(message),
  });

/** A server's reply: numbers as digits, text as bytes. */
export type Reply = null | string | Uint8Array | readonly Reply[];

const MAX_REPLY_BYTES = 4 * 1024 * 1024;

/** Converts a reply to JSON. Bytes are read as UTF-8, and a number beyond 2^53 stays text. */
function replyJson(what: string, reply: Reply): Json {
  if (bytesOf(reply) > MAX_REPLY_BYTES) throw outputTooLarge(what, MAX_REPLY_BYTES);
  return convert(reply);
}

const bytesOf = (reply: Reply): number =>
  reply === null
    ? 0
    : Array.isArray(reply)
      ? (reply as readonly Reply[]).reduce((sum, each) => sum + bytesOf(each), 0)
      : (reply as string | Uint8Array).length;

function convert(reply: Reply): Json {
  if (reply === null) return null;
  if (reply instanceof Uint8Array) return Buffer.from(reply).toString('utf8');
  if (typeof reply !== 'string') return (reply as readonly Reply[]).map(convert);
  const number = /^-?\d+$/.test(reply) ? Number(reply) : Number.NaN;
  return Number.isSafeInteger(number) ? number : reply;
}
