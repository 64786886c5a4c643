import type { Clock } from '../kernel/clock.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { createSseReader, type SseEvent } from '../kernel/sse-reader.ts';
import { type Caller, errorOf, type Query } from './call.ts';

/** What is asked for. */
export interface StreamRequest {
  readonly path: string;
  readonly query?: Query;
  /** Whether events are numbered: then none is told twice, and none is left out. */
  readonly numbered: boolean;
}

export interface ConnectDeps {
  readonly caller: Pick<Caller, 'send'>;
  readonly clock: Pick<Clock, 'after'>;
}

/** A connection that brings no byte for so long is none: the server says every few seconds that it is there. */
const SILENCE_MS = 45_000;
/** One event at the most: larger than any that a log takes. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

/** How a connection ended. */
export type Ending =
  | { readonly kind: 'end' }
  /** `afterMs`: the server says when to come back. */
  | { readonly kind: 'lost'; readonly error: RuntimeError; readonly afterMs?: number }
  /** Coming back would change nothing. */
  | { readonly kind: 'refused'; readonly error: RuntimeError };

/** Who is told what comes. */
export interface Hearer<Event> {
  readonly after: number;
  /** False where an event is missing before it. */
  readonly take: (event: Event, id: number | undefined) => boolean;
  readonly opened: () => void;
  readonly retry: (ms: number) => void;
}

/** One connection, to its end. Never rejects. */
export async function connectStream<Event>(
  { caller, clock }: ConnectDeps,
  { path, query, numbered }: StreamRequest,
  over: AbortSignal,
  { after, take, opened, retry }: Hearer<Event>,
): Promise<Ending> {
  const silence = new AbortController();
  let disarm = clock.after(SILENCE_MS, () => silence.abort(silent()));
  const heard = () => {
    disarm();
    disarm = clock.after(SILENCE_MS, () => silence.abort(silent()));
  };
  let ending: Ending | undefined;
  const reader = createSseReader(MAX_EVENT_BYTES, {
    retry,
    event(sse) {
      ending ??= read(sse);
    },
  });
  const read = ({ event, data, id }: SseEvent): Ending | undefined => {
    if (event === 'end') return { kind: 'end' };
    if (event === 'notice') return noticed(data, opened);
    const said = parsed<Event>(data);
    if (said === undefined) return { kind: 'lost', error: unreadableEvent(data) };
    return take(said, seqOf(said, id)) ? undefined : { kind: 'lost', error: gap(path) };
  };
  try {
    const answer = await caller.send({
      path,
      query: { ...query, ...(numbered ? { after } : {}) },
      headers: {
        accept: 'text/event-stream',
        ...(numbered && after > 0 ? { 'last-event-id': String(after) } : {}),
      },
      signal: AbortSignal.any([over, silence.signal]),
    });
    if (answer.status === 204) return { kind: 'end' };
    if (!answer.ok) return await refused(answer);
    if (numbered) opened();
    if (answer.body === null) return { kind: 'lost', error: broken() };
    for await (const chunk of chunks(answer.body)) {
      heard();
      if (!reader.push(chunk)) return { kind: 'lost', error: tooLong() };
      if (ending !== undefined) return ending;
    }
    return { kind: 'lost', error: broken() };
  } catch (thrown) {
    const reason = silence.signal.aborted ? silence.signal.reason : thrown;
    const error = reason instanceof RuntimeError ? reason : broken(reason);
    return { kind: error.retryable ? 'lost' : 'refused', error };
  } finally {
    disarm();
    silence.abort(); // ends the connection, where it is still there
  }
}

/** What the server says of the stream itself. */
function noticed(data: string, opened: () => void): Ending | undefined {
  const notice = parsed<{ readonly kind?: string; readonly reason?: string }>(data);
  if (notice?.kind === 'ready') opened();
  if (notice?.kind === 'dropped') return { kind: 'lost', error: dropped(notice.reason ?? ''), afterMs: 0 };
  return notice?.kind === 'closing' ? { kind: 'lost', error: closing() } : undefined;
}

/** What cannot be had now, or not at all. */
async function refused(answer: Response): Promise<Ending> {
  const error = await errorOf(answer);
  const mayPass = error.retryable || answer.status >= 500 || answer.status === 408 || answer.status === 429;
  if (!mayPass) return { kind: 'refused', error };
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return { kind: 'lost', error, ...(Number.isFinite(seconds) ? { afterMs: seconds * 1_000 } : {}) };
}

/** Of one that is on the log: those that are not have none, though the stream's last id still stands. */
function seqOf(event: unknown, id: string | undefined): number | undefined {
  const { seq } = event as { readonly seq?: unknown };
  return typeof seq === 'number' && id !== undefined ? seq : undefined;
}

function parsed<Value>(data: string): Value | undefined {
  try {
    return JSON.parse(data) as Value;
  } catch {
    return undefined;
  }
}

/** By hand: not every browser's streams can be iterated over. */
async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

const lost = (message: string, cause?: unknown) =>
  new RuntimeError('stream_broken', message, {
    hint: 'It is tried again by itself; nothing is missed.',
    retryable: true,
    ...(cause === undefined ? {} : { cause: toRuntimeError(cause) }),
  });

const broken = (cause?: unknown) => lost('The connection to the server broke.', cause);
const silent = () => lost(`Nothing has come from the server for ${SILENCE_MS / 1_000} s.`);
const dropped = (reason: string) => lost(`The server ended the stream. ${reason}`.trim());
const closing = () => lost('The server is closing.');
const gap = (path: string) => lost(`An event of ${path} is missing.`);
const tooLong = () => lost('An event is larger than any that a server sends.');
const unreadableEvent = (data: string) =>
  lost(`What came is no event: ${JSON.stringify(data.slice(0, 80))}.`);
