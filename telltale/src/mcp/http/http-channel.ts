import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, sleep } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { createSseReader } from '../../lib/sse-reader.ts';
import type { McpHttpStart, McpSend } from '../../tools/mcp/mcp-server.ts';
import { createBoundedOutput } from '../../tools/output/output.ts';
import {
  type ChannelListener,
  KEPT_WORDS,
  MAX_JUNK,
  readMessage,
  type ServerChannel,
} from '../mcp-errors.ts';
import {
  badStatus,
  brokeOff,
  cannotReach,
  isSessionLost,
  messageTooLarge,
  noAnswerIn,
  noMessages,
  sessionLost,
  tooMuchJunk,
} from './http-errors.ts';

interface Message {
  readonly method?: string;
  readonly id?: unknown;
  readonly error?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** How often a stream without new events is resumed. */
const MAX_RESUMES = 5;

const FIRST_RETRY_MS = 500;

const MIN_RETRY_MS = 50;

const MAX_RETRY_MS = 30_000;

/** How often a request that changes nothing is repeated. */
const MAX_REPEATS = 2;

const GOODBYE_MS = 1_000;

const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** A session with a server over streamable HTTP. Nothing is sent before the first message. */
export function openHttpChannel(start: McpHttpStart, maxMessageBytes: number): ServerChannel {
  const { name, clock } = start;
  const hide = createHide(start.headers);
  const session = createHttpSession(start, hide);
  const junk = createBoundedOutput(KEPT_WORDS);
  const all = new AbortController();
  /** Requests without an answer, by id. */
  const waiting = new Map<unknown, AbortController>();
  let junkCount = 0;
  let listener: ChannelListener | undefined;
  let isGone = false;

  const tellEnd = (how: string | undefined) => {
    if (isGone) return;
    isGone = true;
    listener?.ended(how);
    all.abort();
  };
  /** Passes a message on. Returns true if it answers `id`. Anything else is kept for the error that will follow. */
  const hand = (text: string, id: unknown): boolean => {
    const message: Message | undefined = readMessage(text);
    if (message === undefined) {
      junk.push(Buffer.from(`${text.slice(0, KEPT_WORDS)}\n`));
      if (++junkCount > MAX_JUNK) throw tooMuchJunk(name, MAX_JUNK);
      return false;
    }
    const isShown = message.error !== undefined || message.method === 'notifications/message';
    listener?.message(isShown ? (readMessage(hide(text)) ?? message) : message);
    return message.method === undefined && id !== undefined && message.id === id;
  };
  const streamFor = (id: unknown) => ({
    clock,
    maxMessageBytes,
    take: (data: string) => hand(data, id),
    tooLarge: () => messageTooLarge(name, maxMessageBytes),
  });
  const get = (lastId: string | undefined, signal: AbortSignal, isBackground: boolean) =>
    session.ask({
      method: 'GET',
      headers: { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
      signal,
      isBackground,
    });

  const standing = createStandingStream({
    clock,
    signal: all.signal,
    async listen(place) {
      try {
        const answer = await get(place.lastId, all.signal, true);
        if (!isType(answer, 'text/event-stream')) {
          answer.discard();
          return 'none';
        }
        await readStream(answer, place, streamFor(undefined));
        return 'ended';
      } catch (thrown) {
        if (isSessionLost(thrown)) tellEnd('it no longer knows the session');
        // 405 means that a server has no such stream. Some servers answer 400 or 404 instead.
        return !all.signal.aborted && isPassing(thrown) ? 'failed' : 'none';
      }
    },
  });

  /** Resumes a stream where it broke off, as long as it makes progress. */
  const follow = async (first: HttpChannelAnswer, id: unknown, signal: AbortSignal): Promise<void> => {
    const place = newPlace();
    if (await readStream(first, place, streamFor(id))) return;
    for (let tries = 1; ; tries++) {
      if (signal.aborted) throw signal.reason;
      if (place.lastId === undefined) throw brokeOff(name, 0);
      if (tries > MAX_RESUMES) throw brokeOff(name, MAX_RESUMES);
      const retryMs = place.retryMs ?? FIRST_RETRY_MS * 2 ** (tries - 1);
      await sleep(clock, Math.min(Math.max(retryMs, MIN_RETRY_MS), MAX_RETRY_MS), signal);
      const { events } = place;
      const answer = await get(place.lastId, signal, false).catch((thrown: unknown) => {
        if (isPassing(thrown)) return undefined;
        throw thrown;
      });
      if (answer !== undefined && (await readStream(answer, place, streamFor(id)))) return;
      if (place.events > events) tries = 0;
    }
  };

  /**
   * Posts a message. A tool call is sent only once, because its effect is unknown after a failure. Requests that change
   * nothing are repeated.
   */
  const post = async (message: Message, signal: AbortSignal): Promise<HttpChannelAnswer> => {
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    const mayRepeat =
      message.id !== undefined && message.method !== undefined && message.method !== 'tools/call';
    for (let repeats = 0; ; repeats++)
      try {
        return await session.ask({ method: 'POST', headers, body: JSON.stringify(message), signal });
      } catch (thrown) {
        if (!mayRepeat || repeats === MAX_REPEATS || !isPassing(thrown)) throw thrown;
        await sleep(clock, FIRST_RETRY_MS * 2 ** repeats, signal);
      }
  };

  const request = async (message: Message, signal: AbortSignal): Promise<void> => {
    const answer = await post(message, signal);
    if (message.method === 'initialize')
      session.id = SESSION_ID.exec(answer.headers['mcp-session-id'] ?? '')?.[0];
    if (isType(answer, 'text/event-stream')) return follow(answer, message.id, signal);
    if (!isType(answer, 'application/json')) {
      answer.discard();
      throw noMessages(name, answer.headers['content-type'] ?? '');
    }
    const text = await readWhole(answer, maxMessageBytes, messageTooLarge(name, maxMessageBytes)).catch(
      (thrown: unknown) => {
        throw thrown instanceof RuntimeError ? thrown : brokeOff(name, 0);
      },
    );
    if (!listOf(text).some((one) => hand(one, message.id))) throw noAnswerIn(name);
  };

  return {
    listen(to) {
      listener = to;
    },
    async send(given) {
      const message: Message = given;
      const isRequest = message.method !== undefined && message.id !== undefined;
      const controller = new AbortController();
      const stop = () => controller.abort(all.signal.reason);
      if (all.signal.aborted) stop();
      all.signal.addEventListener('abort', stop, { once: true });
      if (isRequest) waiting.set(message.id, controller);
      try {
        if (isRequest) await request(message, controller.signal);
        else (await post(message, controller.signal)).discard();
        if (session.version !== undefined) standing.wake();
      } finally {
        all.signal.removeEventListener('abort', stop);
        if (isRequest) waiting.delete(message.id);
        // Nobody needs its answer any more.
        if (message.method === 'notifications/cancelled') waiting.get(message.params?.requestId)?.abort();
      }
    },
    useVersion(agreed) {
      session.version = agreed;
    },
    get words() {
      return { stderr: '', junk: hide(junk.text()) };
    },
    // A request keeps the process alive by itself. A background stream should not.
    hold: () => undefined,
    letGo: () => undefined,
    async end(how) {
      tellEnd(how);
      if (session.id === undefined) return;
      const signal = AbortSignal.timeout(GOODBYE_MS);
      // the server need not accept it
      const answer = await session.ask({ method: 'DELETE', signal }).catch(() => undefined);
      session.id = undefined;
      answer?.discard();
    },
  };
}

/** Whether the same request may succeed in a moment. */
const isPassing = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.retryable && !isSessionLost(thrown);

const isType = ({ headers }: HttpChannelAnswer, type: string): boolean =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() === type;

/** The messages of a body: one, or a list as in an older version of the protocol. */
function listOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    return (JSON.parse(text) as readonly unknown[]).map((one) => JSON.stringify(one));
  } catch {
    return [text];
  }
}

const HIDDEN = '[hidden]';

/** Shorter values would match in any text by chance. */
const MIN_LENGTH = 4;

/** Removes header values, and the tokens in them, from a text, because servers quote what they received. */
function createHide(headers: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = [
    ...new Set(Object.values(headers).flatMap((value) => [value.trim(), ...value.trim().split(/\s+/)])),
  ]
    .filter((value) => value.length >= MIN_LENGTH && !SCHEMES.has(value.toLowerCase()))
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
}

const SCHEMES: ReadonlySet<string> = new Set(['bearer', 'basic', 'token', 'digest']);

/** The stream on which a server sends messages that nobody requested, such as changes of its tools. */
export interface StandingStream {
  /** Opens it again after it was given up. Call this whenever there is a sign of life from the server. */
  wake(): void;
}

export interface StandingDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Listens until the stream ends. `none` means that the server has no such stream. */
  readonly listen: (place: HttpChannelStreamPlace) => Promise<'ended' | 'failed' | 'none'>;
}

const FIRST_WAIT_MS = 1_000;

const MAX_WAIT_MS = 30_000;

/** After this many streams in a row without events, it is left closed until the next sign of life. */
const MAX_IN_VAIN = 5;

/** A stream that was open this long counts as good even without events. */
const GOOD_MS = 10_000;

function createStandingStream({ clock, signal, listen }: StandingDeps): StandingStream {
  let isOpen = false;
  let isOffered = true;
  const place = newPlace();

  const run = async () => {
    for (let inVain = 0; inVain < MAX_IN_VAIN && !signal.aborted; ) {
      const { events } = place;
      const began = clock.monotonic();
      const outcome = await listen(place);
      if (outcome === 'none') {
        isOffered = false;
        return;
      }
      const isGood = place.events > events || clock.monotonic() - began > GOOD_MS;
      inVain = outcome === 'ended' && isGood ? 0 : inVain + 1;
      const backOff = FIRST_WAIT_MS * 2 ** Math.max(0, inVain - 1);
      // A plain timer, which does not keep the process alive.
      await wait(Math.min(Math.max(place.retryMs ?? 0, backOff), MAX_WAIT_MS), undefined, {
        ref: false,
        signal,
      });
    }
  };
  return {
    wake() {
      if (isOpen || !isOffered || signal.aborted) return;
      isOpen = true;
      run().then(
        () => {
          isOpen = false;
        },
        () => {
          isOpen = false; // the wait was aborted because the channel has ended
        },
      );
    },
  };
}

export type HttpChannelAnswer = Awaited<ReturnType<McpSend>>;

export interface HttpChannelAsking {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly isBackground?: boolean;
}

/** The common part of all requests to a server: the session, and the meaning of refusals. */
export interface HttpSession {
  /** Undefined before the server has assigned one, if it assigns none, and after it was lost. */
  id: string | undefined;
  /** The agreed version of the protocol. */
  version: string | undefined;
  /** Resolves with a successful response. Rejects with an error for the status, or with `mcp_session_lost`. */
  ask(asking: HttpChannelAsking): Promise<HttpChannelAnswer>;
}

const MAX_SHOWN_BODY = 4_096;

/** `hide` removes from a text what must not be shown. */
function createHttpSession(start: McpHttpStart, hide: (text: string) => string): HttpSession {
  const { name, send } = start;
  const what = `The MCP server "${name}"`;
  const own = Object.fromEntries(
    Object.entries(start.headers).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const session: HttpSession = {
    id: undefined,
    version: undefined,
    async ask({ headers, ...asking }) {
      const { id, version } = session;
      const all = {
        ...own,
        ...(id === undefined ? {} : { 'mcp-session-id': id }),
        ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
        ...headers,
      };
      const answer = await send({ what, headers: all, ...asking }).catch((thrown: unknown) => {
        throw cannotReach(name, thrown);
      });
      if (answer.status < 300) return answer;
      const said = hide(await readSaid(answer));
      // Many servers answer 400 for an unknown session, like the examples of the SDK.
      const isLost = answer.status === 404 || (answer.status === 400 && /session/i.test(said));
      if (id === undefined || !isLost) throw badStatus(name, answer.status, said);
      if (session.id === id) session.id = undefined;
      throw sessionLost(name);
    },
  };
  return session;
}

/** The message of an error response. Uses the message of a JSON-RPC error. Empty if it cannot be read. */
async function readSaid(answer: HttpChannelAnswer): Promise<string> {
  const text = await readWhole(answer, MAX_SHOWN_BODY, undefined).catch(() => '');
  const { error } = (readMessage(text) ?? {}) as { readonly error?: { readonly message?: unknown } };
  return String(typeof error?.message === 'string' ? error.message : text).trim();
}

/** Reads a body as text. A body above `maxBytes` throws `tooLarge`, or is truncated if that is undefined. */
async function readWhole(
  answer: StreamedAnswer,
  maxBytes: number,
  tooLarge: Error | undefined,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      total += chunk.length;
      if (total <= maxBytes) continue;
      if (tooLarge !== undefined) throw tooLarge;
      break;
    }
  } finally {
    answer.discard();
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}

/** A response whose body is read as it arrives. */
export interface StreamedAnswer {
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}

/** The position in a stream, kept from one connection to the next. */
export interface HttpChannelStreamPlace {
  /** The id to resume from. Undefined if the stream cannot be resumed. */
  lastId: string | undefined;
  /** How long the server asks to wait before that. */
  retryMs: number | undefined;
  events: number;
}

const newPlace = (): HttpChannelStreamPlace => ({ lastId: undefined, retryMs: undefined, events: 0 });

export interface StreamDeps {
  readonly clock: Clock;
  readonly maxMessageBytes: number;
  /**
   * Receives the data of an event. Returns true if it is what the stream was opened for. Throws to give up the stream.
   */
  readonly take: (data: string) => boolean;
  readonly tooLarge: () => Error;
}

/** How long a server has to end its stream after the answer, because a connection that ends cleanly can be reused. */
const LINGER_MS = 1_000;

/**
 * Reads events until the stream ends or breaks. Resolves with whether the expected message arrived. Rejects only if the
 * stream must be given up.
 */
async function readStream(
  answer: StreamedAnswer,
  place: HttpChannelStreamPlace,
  { clock, maxMessageBytes, take, tooLarge }: StreamDeps,
): Promise<boolean> {
  let isDone = false;
  let stopLingering = () => {};
  let failure: unknown;
  const reader = createSseReader(maxMessageBytes, {
    event({ id, event, data }) {
      place.lastId = id;
      place.events++;
      if (event !== 'message' || data === '' || failure !== undefined) return;
      try {
        if (!take(data) || isDone) return;
        isDone = true;
        stopLingering = clock.after(LINGER_MS, answer.discard);
      } catch (thrown) {
        failure = thrown;
      }
    },
    retry: (ms) => {
      place.retryMs = ms;
    },
  });
  try {
    for await (const chunk of answer.body) {
      if (!reader.push(chunk)) failure ??= tooLarge();
      if (failure !== undefined) break;
    }
  } catch {
    // A broken stream is handled like one that has ended, because both can be resumed.
  } finally {
    stopLingering();
    answer.discard();
  }
  if (failure !== undefined && !isDone) throw failure;
  return isDone;
}
