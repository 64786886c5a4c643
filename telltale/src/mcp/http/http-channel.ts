import { sleep } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { McpHttpStart } from '../../targets/mcp/mcp-server.ts';
import { createKeptOutput } from '../../targets/output/kept-output.ts';
import {
  type ChannelListener,
  KEPT_WORDS,
  MAX_JUNK,
  readMessage,
  type ServerChannel,
} from '../server-channel.ts';
import { createHide } from './hide-secrets.ts';
import {
  brokeOff,
  isSessionLost,
  messageTooLarge,
  noAnswerIn,
  noMessages,
  tooMuchJunk,
} from './http-errors.ts';
import { type Answer, createHttpSession } from './http-session.ts';
import { newPlace, readStream } from './message-stream.ts';
import { readWhole } from './read-whole.ts';
import { createStandingStream } from './standing-stream.ts';

interface Message {
  readonly method?: string;
  readonly id?: unknown;
  readonly error?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** Tries to resume a stream that brought nothing new. */
const MAX_RESUMES = 5;
const FIRST_RETRY_MS = 500;
const MIN_RETRY_MS = 50;
const MAX_RETRY_MS = 30_000;
/** Of a request that changes nothing. */
const MAX_REPEATS = 2;
const GOODBYE_MS = 1_000;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** A session with a server over streamable HTTP. Nothing is sent before the first message. */
export function openHttpChannel(start: McpHttpStart, maxMessageBytes: number): ServerChannel {
  const { name, clock } = start;
  const hide = createHide(start.headers);
  const session = createHttpSession(start, hide);
  const junk = createKeptOutput(KEPT_WORDS);
  const all = new AbortController();
  /** Requests that have no answer yet, by id. */
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
  /** Hands a message on; true if it answers `id`. What is no message is kept for the error that will follow. */
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
        // 405 is how a server says that it has no such stream; others say 400 or 404.
        return !all.signal.aborted && isPassing(thrown) ? 'failed' : 'none';
      }
    },
  });

  /** Reads on where a stream broke off, as long as it brings something. */
  const follow = async (first: Answer, id: unknown, signal: AbortSignal): Promise<void> => {
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

  /** A call is made once: whether it had an effect is not known. What changes nothing is asked for again. */
  const post = async (message: Message, signal: AbortSignal): Promise<Answer> => {
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
        // Its answer is of no use to anybody any more.
        if (message.method === 'notifications/cancelled') waiting.get(message.params?.requestId)?.abort();
      }
    },
    useVersion(agreed) {
      session.version = agreed;
    },
    get words() {
      return { stderr: '', junk: hide(junk.text()) };
    },
    // A request keeps the process by itself, and what is only listened to does not.
    hold: () => undefined,
    letGo: () => undefined,
    async end(how) {
      tellEnd(how);
      if (session.id === undefined) return;
      const signal = AbortSignal.timeout(GOODBYE_MS);
      const answer = await session.ask({ method: 'DELETE', signal }).catch(() => undefined); // it need not take it
      session.id = undefined;
      answer?.discard();
    },
  };
}

/** Whether the same may succeed in a moment. */
const isPassing = (thrown: unknown): boolean =>
  thrown instanceof RuntimeError && thrown.retryable && !isSessionLost(thrown);

const isType = ({ headers }: Answer, type: string): boolean =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() === type;

/** The messages of a body: one, or (as an older version had it) a list. */
function listOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    return (JSON.parse(text) as readonly unknown[]).map((one) => JSON.stringify(one));
  } catch {
    return [text];
  }
}
