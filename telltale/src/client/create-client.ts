import { type Clock, createSystemClock } from '../lib/clock.ts';
import { RuntimeError, tellOne, toRuntimeError } from '../lib/errors.ts';
import { createSseReader, type SseEvent } from '../lib/sse-reader.ts';
import type { CallOptions, ClientOptions, Followed, TelltaleClient } from './client.ts';
import { type ClientCaller, createCaller, errorOf, type Query } from './client.ts';

/** A client of a Telltale server, for Node and for browsers. */
export function createClient(options: ClientOptions = {}): TelltaleClient {
  const caller = createCaller(options);
  const edges: FollowDeps = { caller, clock: createSystemClock(), random: Math.random };
  const get = <Answer>(path: string, query?: object, call?: CallOptions): Promise<Answer> =>
    caller.json({ path, ...(query === undefined ? {} : { query: query as Query }), ...call });
  const post = <Answer>(path: string, body?: object, call?: CallOptions): Promise<Answer> =>
    caller.json({ method: 'POST', path, ...(body === undefined ? {} : { body }), ...call });
  const tell = (path: string, body: object, call?: CallOptions): Promise<void> =>
    caller.done({ method: 'POST', path, body, ...call });

  return {
    health: (call) => get('/healthz', undefined, call),
    ready: (call) => get('/readyz', undefined, call),
    whoami: (call) => get('/whoami', undefined, call),
    fleet: (call) => get('/fleet', undefined, call),
    retryStream: (id, call) => tell(at`/fleet/${id}/retry`, {}, call),

    agents: (call) => get('/agents', undefined, call),
    agent: (name, call) => get(at`/agents/${name}`, undefined, call),
    reloadAgents: (call) => post('/agents/reload', undefined, call),
    workflows: (call) => get('/workflows', undefined, call),

    sessions: (query, call) => get('/sessions', query, call),
    session: (id, call) => get(at`/sessions/${id}`, undefined, call),
    startSession: (start, call) => post('/sessions', start, call),
    sessionEvents: (id, query, call) => get(at`/sessions/${id}/events`, query, call),
    sessionState: (id, seq, call) => get(at`/sessions/${id}/state`, { seq }, call),
    sessionPrompt: (id, turn, call) =>
      get(at`/sessions/${id}/prompts/${turn === undefined ? 'last' : String(turn)}`, undefined, call),
    followSession: (id, listener, { after = 0, live = true } = {}) =>
      follow(edges, {
        path: at`/sessions/${id}/events`,
        ...(live ? {} : { query: { live: '0' } }),
        after,
        listener,
        numbered: true,
      }),
    steer: (id, text, call) => tell(at`/sessions/${id}/steer`, { text }, call),
    say: (id, text, call) => tell(at`/sessions/${id}/say`, { text }, call),
    cancelSession: (id, reason, call) => tell(at`/sessions/${id}/cancel`, { reason }, call),
    resumeSession: (id, resume = {}, call) => post(at`/sessions/${id}/resume`, resume, call),
    fork: (id, fork, call) =>
      post(at`/sessions/${id}/fork`, typeof fork === 'number' ? { seq: fork } : fork, call),
    why: (stream, seq, call) => get(at`/streams/${stream}/events/${String(seq)}/why`, undefined, call),

    runs: (query, call) => get('/runs', query, call),
    run: (id, call) => get(at`/runs/${id}`, undefined, call),
    startRun: (start, call) => post('/runs', start, call),
    runState: (id, seq, call) => get(at`/runs/${id}/state`, { seq }, call),
    runEvents: (id, query, call) => get(at`/runs/${id}/events`, query, call),
    followRun: (id, listener, { after = 0, live = true } = {}) =>
      follow(edges, {
        path: at`/runs/${id}/events`,
        ...(live ? {} : { query: { live: '0' } }),
        after,
        listener,
        numbered: true,
      }),
    cancelRun: (id, reason, call) => tell(at`/runs/${id}/cancel`, { reason }, call),
    resumeRun: (id, resume = {}, call) => post(at`/runs/${id}/resume`, resume, call),
    runChanges: (id, call) => get(at`/runs/${id}/changes`, undefined, call),
    signalRun: (id, event, data, call) => tell(at`/runs/${id}/signal`, { event, data }, call),

    followAll: (listener) => follow(edges, { path: '/events', after: 0, listener, numbered: false }),

    reviews: (query, call) => get('/reviews', query, call),
    review: (id, call) => get(at`/reviews/${id}`, undefined, call),
    answerReview: (id, answer, call) => post(at`/reviews/${id}`, answer, call),

    artifacts: (query, call) => get('/artifacts', query, call),
    artifact: (name, call) => get(at`/artifacts/${name}`, undefined, call),
    writeArtifact: (name, body, call) =>
      caller.json({ method: 'PUT', path: at`/artifacts/${name}`, body, ...call }),
    rollbackArtifact: (name, to, call) => post(at`/artifacts/${name}/rollback`, { to }, call),
    testArtifact: (name, test, call) => post(at`/artifacts/${name}/test`, test, call),

    queryMemory: (query, call) => post('/memory/query', query, call),
    memoryStats: (agent, call) => get('/memory/stats', { agent }, call),

    notifications: (query, call) => get('/notifications', query, call),
    retryNotification: (id, call) => post(at`/notifications/${id}/retry`, undefined, call),
    audit: (query, call) => get('/audit', query, call),

    tokens: (call) => get('/tokens', undefined, call),
    createToken: (token, call) => post('/tokens', token, call),
    revokeToken: (name, call) => caller.done({ method: 'DELETE', path: at`/tokens/${name}`, ...call }),

    openapi: (call) => get('/openapi.json', undefined, call),
  };
}

/** A path with names in it, each encoded; empty where one cannot be. */
const at = (texts: TemplateStringsArray, ...names: readonly string[]): string =>
  names.some((name) => name === '' || name === '.' || name === '..')
    ? ''
    : texts.reduce((path, text, index) => `${path}${encodeURIComponent(names[index - 1] ?? '')}${text}`);

export interface Following<Event> extends StreamRequest {
  readonly after: number;
  readonly listener: (told: Followed<Event>) => void;
}

export interface FollowDeps extends ConnectDeps {
  /** From 0 to 1: clients that were lost together do not come back together. */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;

/**
 * Follows an event stream and comes back whenever it breaks, until it ends or the returned function is called. What the
 * listener throws is uncaught: it is no break of the connection, and the next event is told all the same.
 */
export function follow<Event>(edges: FollowDeps, following: Following<Event>): () => void {
  const { clock, random } = edges;
  const { listener } = following;
  const over = new AbortController();
  let after = following.after;
  /** What the server asked for, by `retry:`. */
  let wanted: number | undefined;
  let failures = 0;

  const tell = (told: Followed<Event>) => {
    if (!over.signal.aborted) tellOne(listener, told);
  };
  const take = (event: Event, id: number | undefined): boolean => {
    if (following.numbered && id !== undefined) {
      if (id <= after) return true;
      if (id !== after + 1) return false;
      after = id;
    }
    failures = 0;
    tell({ kind: 'event', event });
    return true;
  };
  const opened = () => tell({ kind: 'open', after });

  const run = async () => {
    while (!over.signal.aborted) {
      const ending = await connectStream(edges, following, over.signal, {
        after,
        take,
        opened,
        retry(ms) {
          wanted = ms;
        },
      });
      if (ending.kind === 'end') return tell({ kind: 'end' });
      const error = ending.error.toJSON();
      if (ending.kind === 'refused') {
        tell({ kind: 'lost', error, retryInMs: Number.POSITIVE_INFINITY });
        return tell({ kind: 'end' });
      }
      const backOff = Math.min((wanted ?? FIRST_RETRY_MS) * 2 ** failures, MAX_RETRY_MS);
      failures++;
      const retryInMs = Math.round(ending.afterMs ?? backOff * (0.75 + random() / 2));
      tell({ kind: 'lost', error, retryInMs });
      await pause(clock, retryInMs, over.signal);
    }
  };
  void run(); // it tells its own failures
  return () => over.abort();
}

const pause = (clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      disarm();
      resolve();
    };
    const disarm = clock.after(ms, () => {
      signal.removeEventListener('abort', end);
      resolve();
    });
    signal.addEventListener('abort', end, { once: true });
  });

/** What is asked for. */
export interface StreamRequest {
  readonly path: string;
  readonly query?: Query;
  /** Whether events are numbered: then none is told twice, and none is left out. */
  readonly numbered: boolean;
}

export interface ConnectDeps {
  readonly caller: Pick<ClientCaller, 'send'>;
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
async function connectStream<Event>(
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
