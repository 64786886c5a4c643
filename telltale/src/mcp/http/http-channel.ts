import { sleep } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { McpHttpStart, McpSend } from '../../targets/mcp/mcp-server.ts';
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
  badStatus,
  brokeOff,
  cannotReach,
  messageTooLarge,
  noAnswerIn,
  noMessages,
  sessionLost,
  tooMuchJunk,
} from './http-errors.ts';
import { newPlace, readStream } from './message-stream.ts';
import { readWhole } from './read-whole.ts';
import { createStandingStream } from './standing-stream.ts';

type Answer = Awaited<ReturnType<McpSend>>;
type Message = {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: { readonly requestId?: unknown };
};

/** Tries to resume a stream that brought nothing new. */
const MAX_RESUMES = 5;
const FIRST_RETRY_MS = 500;
const MIN_RETRY_MS = 50;
const MAX_RETRY_MS = 30_000;
/** Of a request that changes nothing. */
const MAX_REPEATS = 2;
const GOODBYE_MS = 1_000;
const MAX_SHOWN_BODY = 4_096;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** A session with a server over streamable HTTP. Nothing is sent before the first message. */
export function openHttpChannel(start: McpHttpStart, maxMessageBytes: number): ServerChannel {
  const { name, clock } = start;
  const what = `The MCP server "${name}"`;
  const hide = createHide(start.headers);
  const own = Object.fromEntries(
    Object.entries(start.headers).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const junk = createKeptOutput(KEPT_WORDS);
  const all = new AbortController();
  /** Requests that have no answer yet, by id. */
  const waiting = new Map<unknown, AbortController>();
  let junkCount = 0;
  let session: string | undefined;
  let version: string | undefined;
  let listener: ChannelListener | undefined;
  let isGone = false;

  const tellEnd = (how: string | undefined) => {
    if (isGone) return;
    isGone = true;
    listener?.ended(how);
    all.abort();
  };
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE',
    signal: AbortSignal,
    more: Readonly<Record<string, string>>,
    body?: string,
    isBackground = false,
  ): Promise<Answer> => {
    const asked = session;
    const headers = {
      ...own,
      ...(asked === undefined ? {} : { 'mcp-session-id': asked }),
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      ...more,
    };
    const answer = await start
      .send({ what, method, headers, body, signal, isBackground })
      .catch((thrown: unknown) => {
        throw cannotReach(name, thrown);
      });
    if (answer.status < 300) return answer;
    const said = hide(await readSaid(answer));
    const isLost = answer.status === 404 || (answer.status === 400 && /session/i.test(said));
    if (asked === undefined || !isLost) throw badStatus(name, answer.status, said);
    if (session === asked) session = undefined;
    throw sessionLost(name);
  };
  const get = (lastId: string | undefined, signal: AbortSignal, isBackground: boolean) =>
    ask(
      'GET',
      signal,
      { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
      undefined,
      isBackground,
    );

  /** Hands a message on; true if it answers `id`. What is no message is kept for the error that will follow. */
  const hand = (text: string, id: unknown): boolean => {
    const message: Message | undefined = readMessage(text);
    if (message === undefined) {
      junk.push(Buffer.from(`${text.slice(0, KEPT_WORDS)}\n`));
      if (++junkCount > MAX_JUNK) throw tooMuchJunk(name, MAX_JUNK);
      return false;
    }
    listener?.message(message);
    return message.method === undefined && id !== undefined && message.id === id;
  };
  const streamFor = (id: unknown) => ({
    clock,
    maxMessageBytes,
    take: (data: string) => hand(data, id),
    tooLarge: () => messageTooLarge(name, maxMessageBytes),
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
        if (all.signal.aborted) return 'none';
        const { code, retryable } = thrown as RuntimeError;
        if (code === 'mcp_session_lost') tellEnd('it no longer knows the session');
        // 405 is how a server says that it has no such stream; others say 400 or 404.
        return retryable && code !== 'mcp_session_lost' ? 'failed' : 'none';
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
        if (thrown instanceof RuntimeError && thrown.retryable && thrown.code !== 'mcp_session_lost')
          return undefined;
        throw thrown;
      });
      if (answer !== undefined && (await readStream(answer, place, streamFor(id)))) return;
      if (place.events > events) tries = 0;
    }
  };

  const post = async (message: Message, signal: AbortSignal): Promise<Answer> => {
    const accept = 'application/json, text/event-stream';
    for (let repeats = 0; ; repeats++)
      try {
        return await ask(
          'POST',
          signal,
          { accept, 'content-type': 'application/json' },
          JSON.stringify(message),
        );
      } catch (thrown) {
        const mayRepeat =
          message.id !== undefined && message.method !== undefined && message.method !== 'tools/call';
        if (!(thrown instanceof RuntimeError) || !thrown.retryable || !mayRepeat) throw thrown;
        if (repeats === MAX_REPEATS || thrown.code === 'mcp_session_lost') throw thrown;
        await sleep(clock, FIRST_RETRY_MS * 2 ** repeats, signal);
      }
  };

  const request = async (message: Message, signal: AbortSignal): Promise<void> => {
    const answer = await post(message, signal);
    if (message.method === 'initialize')
      session = SESSION_ID.exec(answer.headers['mcp-session-id'] ?? '')?.[0];
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
        if (message.method === 'notifications/initialized' || version !== undefined) standing.wake();
      } finally {
        all.signal.removeEventListener('abort', stop);
        waiting.delete(message.id);
        // Its answer is of no use to anybody any more.
        if (message.method === 'notifications/cancelled') waiting.get(message.params?.requestId)?.abort();
      }
    },
    useVersion(agreed) {
      version = agreed;
    },
    get words() {
      return { stderr: '', junk: hide(junk.text()) };
    },
    // A request keeps the process by itself, and what is only listened to does not.
    hold: () => undefined,
    letGo: () => undefined,
    async end(how) {
      tellEnd(how);
      if (session === undefined) return;
      const answer = await ask('DELETE', AbortSignal.timeout(GOODBYE_MS), {}).catch(() => undefined); // it need not take it
      session = undefined;
      answer?.discard();
    },
  };
}

const isType = ({ headers }: Answer, type: string): boolean =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() === type;

/** Of an error; nothing where it cannot be read. JSON-RPC's is the message in it. */
async function readSaid(answer: Answer): Promise<string> {
  const text = await readWhole(answer, MAX_SHOWN_BODY, undefined).catch(() => '');
  const { error } = (readMessage(text) ?? {}) as { readonly error?: { readonly message?: unknown } };
  return String(typeof error?.message === 'string' ? error.message : text).trim();
}

/** The messages of a body: one, or (as an older version had it) a list. */
function listOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    return (JSON.parse(text) as readonly unknown[]).map((one) => JSON.stringify(one));
  } catch {
    return [text];
  }
}
