import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { LiveEvent, SessionEvent } from '../log/event.ts';
import type { RunEvent } from '../log/run-event.ts';
import type { WorkflowChanges } from '../log/run-state.ts';
import type { RunSummary } from '../log/run-summary.ts';
import type { SessionPrompt } from '../log/session-prompt.ts';
import type { SessionSummary } from '../log/session-summary.ts';
import type {
  AgentDetails,
  AgentInfo,
  AnswerReview,
  ArtifactInfo,
  ArtifactSource,
  ArtifactTestResult,
  AuditEntry,
  CreatedToken,
  CreateToken,
  EventQuery,
  FleetInfo,
  ForkSession,
  Health,
  MemoryQueryInfo,
  NotificationInfo,
  Page,
  PageQuery,
  Readiness,
  ResumeRun,
  ResumeSession,
  ReviewDetailsInfo,
  ReviewInfo,
  RunQuery,
  SessionQuery,
  StartRun,
  StartSession,
  TestArtifact,
  TokenInfo,
  Whoami,
  WhyChain,
  WorkflowInfo,
  WriteArtifact,
} from './api.ts';

/** What stands behind the `?`. What is undefined is left out; lists have commas between their items. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export interface ClientClientRequest extends CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Encoded. Empty where a name in it is none. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: Json | object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ClientCaller {
  /** Sends a request. Rejects with `server_unreachable`, or with the signal's reason. */
  send(request: ClientClientRequest): Promise<Response>;
  /** Sends it and reads the answer. Rejects with the server's own error where it is none. */
  json<Answer>(request: ClientClientRequest): Promise<Answer>;
  /** The same where there is nothing to read. */
  done(request: ClientClientRequest): Promise<void>;
}

export function createCaller({ url, token, fetch: given }: ClientOptions): ClientCaller {
  const base = (url ?? pageOrigin()).replace(/\/+$/, '');
  // A browser's own wants to be called as the window's.
  const fetchIt = given ?? ((...args: Parameters<typeof fetch>) => fetch(...args));

  const send = async ({
    method = 'GET',
    path,
    query = {},
    body,
    headers,
    signal,
    idempotencyKey,
  }: ClientClientRequest) => {
    if (path === '') throw badName();
    const address = `${base}${path}${queryText(query)}`;
    try {
      return await fetchIt(address, {
        method,
        headers: {
          accept: 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (thrown) {
      signal?.throwIfAborted();
      throw unreachable(base, thrown);
    }
  };
  const mustSucceed = async (request: ClientClientRequest): Promise<Response> => {
    const answer = await send(request);
    // Not ready is an answer, too.
    if (!answer.ok && !(answer.status === 503 && request.path === '/readyz')) throw await errorOf(answer);
    return answer;
  };

  return {
    send,
    async json<Answer>(request: ClientClientRequest) {
      const answer = await mustSucceed(request);
      try {
        return (await answer.json()) as Answer;
      } catch (thrown) {
        request.signal?.throwIfAborted();
        throw unreadable(request.path, answer.status, thrown);
      }
    },
    async done(request) {
      await (await mustSucceed(request)).arrayBuffer(); // frees the connection
    },
  };
}

/** The error that an answer says; one of our own where it is no answer of such a server. */
export async function errorOf(answer: Response): Promise<RuntimeError> {
  const text = await answer.text().catch(() => '');
  try {
    const { error, changes } = JSON.parse(text) as {
      readonly error?: Partial<ErrorJson>;
      readonly changes?: unknown;
    };
    if (typeof error?.code === 'string' && typeof error.message === 'string') {
      const { hint, retryable } = error;
      const found = new RuntimeError(error.code, error.message, { hint, retryable: retryable === true });
      return changes === undefined ? found : Object.assign(found, { changes });
    }
  } catch {
    // no JSON: said below
  }
  return strangeAnswer(answer.status, text);
}

const queryText = (query: Query): string => {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [`${key}=${encodeURIComponent(Array.isArray(value) ? value.join(',') : String(value))}`],
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
};

function pageOrigin(): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  if (location === undefined) throw urlMissing();
  return location.origin;
}

const urlMissing = () =>
  new RuntimeError('bad_option', 'createClient was not told where the server is.', {
    hint: 'Give its address: createClient({ url: "http://127.0.0.1:4800" }). Only a page of the server knows it.',
  });

const badName = () =>
  new RuntimeError(
    'name_malformed',
    'An id or name is empty, or is "." or "..", which no address can hold.',
    {
      hint: 'Give the id as the server gave it.',
    },
  );

const unreachable = (base: string, cause: unknown) =>
  new RuntimeError('server_unreachable', `The server at ${base} cannot be reached.`, {
    hint: 'Check that the server is running: telltale serve',
    retryable: true,
    cause,
  });

const unreadable = (path: string, status: number, cause: unknown) =>
  new RuntimeError('answer_unreadable', `The answer to ${path} (${status}) broke off or is no JSON.`, {
    hint: 'Look whether something stands between here and the server, a proxy say; then ask again.',
    retryable: true,
    cause,
  });

const MAX_SHOWN = 200;

const strangeAnswer = (status: number, text: string) =>
  new RuntimeError(
    'answer_unreadable',
    `The answer is ${status}, and says nothing that a Telltale server would: ${JSON.stringify(text.slice(0, MAX_SHOWN))}.`,
    {
      hint: 'Look whether the address is that of a Telltale server, and what stands in between.',
      retryable: status >= 500,
    },
  );

export interface ClientOptions {
  /** `http://127.0.0.1:4800`; in a browser, where the page came from if absent. */
  readonly url?: string;
  readonly token?: string;
  readonly fetch?: typeof fetch;
}

/** For one request. `idempotencyKey`: the same key again gives the same answer, and does nothing twice. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
}

/** What stands between the pieces of speech that are told while they come, for whoever joins in the middle. */
export interface LiveSnapshot {
  readonly type: 'live.snapshot';
  readonly session: string;
  readonly turn: number;
  /** The open thoughts, by depth, and the open response, as far as they have come. */
  readonly thoughts: readonly { readonly depth: number; readonly text: string }[];
  readonly response: string;
  /** The agent that speaks, where the conversation has moved to another one. */
  readonly speaker?: string;
}

/**
 * What a follower of a stream is told. `open`: the connection stands (again), and everything behind `after` follows.
 * `lost`: it broke, and is tried again in so many milliseconds: never (Infinity) where that would change nothing, and `end`
 * follows. `end`: nothing will come any more. Of `followAll` nothing is resumed: whoever lists after `open` misses nothing.
 */
export type Followed<Event> =
  | { readonly kind: 'open'; readonly after: number }
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'lost'; readonly error: ErrorJson; readonly retryInMs: number }
  | { readonly kind: 'end' };

export interface FollowOptions {
  /** The seq of the last event that is known already; 0 for all. */
  readonly after?: number;
  /** Whether deltas and progress are wanted; true by default. */
  readonly live?: boolean;
}

/** Everything that the server offers, typed. Rejects with a `RuntimeError` that has the server's code, message and hint. */
export interface TelltaleClient {
  health(options?: CallOptions): Promise<Health>;
  ready(options?: CallOptions): Promise<Readiness>;
  whoami(options?: CallOptions): Promise<Whoami>;
  /** The processes that share the store. Rejects with `not_shared` where it is of one machine. */
  fleet(options?: CallOptions): Promise<FleetInfo>;
  /** Has a session or run tried again that no worker could go on with. Needs `admin`. */
  retryStream(id: string, options?: CallOptions): Promise<void>;

  agents(options?: CallOptions): Promise<Page<AgentInfo>>;
  agent(name: string, options?: CallOptions): Promise<AgentDetails>;
  /** Reads all manifests again. Needs `admin`. */
  reloadAgents(options?: CallOptions): Promise<Page<AgentInfo>>;
  workflows(options?: CallOptions): Promise<Page<WorkflowInfo>>;

  sessions(query?: SessionQuery, options?: CallOptions): Promise<Page<SessionSummary>>;
  session(id: string, options?: CallOptions): Promise<SessionSummary>;
  startSession(start: StartSession, options?: CallOptions): Promise<SessionSummary>;
  /** Committed events behind `after`, `limit` (10,000 at the most) at a time. */
  sessionEvents(id: string, query?: EventQuery, options?: CallOptions): Promise<Page<SessionEvent>>;
  /** The folded state after `seq`, or now. */
  sessionState(id: string, seq?: number, options?: CallOptions): Promise<JsonObject>;
  /** What the model was asked in a turn, or in the newest one: rebuilt from the log, with tokens by part. */
  sessionPrompt(id: string, turn?: number, options?: CallOptions): Promise<SessionPrompt>;
  /**
   * Follows a session until it ends or the returned function is called: comes back by itself when it breaks. What the
   * listener throws is uncaught, and the next event is told all the same.
   */
  followSession(
    id: string,
    listener: (told: Followed<SessionEvent | LiveEvent | LiveSnapshot>) => void,
    options?: FollowOptions,
  ): () => void;
  steer(id: string, text: string, options?: CallOptions): Promise<void>;
  /** The next message of a chat. */
  say(id: string, text: string, options?: CallOptions): Promise<void>;
  cancelSession(id: string, reason?: string, options?: CallOptions): Promise<void>;
  resumeSession(id: string, resume?: ResumeSession, options?: CallOptions): Promise<SessionSummary>;
  /** A new session that begins as this one did, up to an event, and goes on from there, with what is to be changed. */
  fork(id: string, fork: number | ForkSession, options?: CallOptions): Promise<SessionSummary>;
  /** Why an event of a session or run happened. */
  why(stream: string, seq: number, options?: CallOptions): Promise<WhyChain>;

  runs(query?: RunQuery, options?: CallOptions): Promise<Page<RunSummary>>;
  run(id: string, options?: CallOptions): Promise<RunSummary>;
  startRun(start: StartRun, options?: CallOptions): Promise<RunSummary>;
  /** The folded state after `seq`, or now. */
  runState(id: string, seq?: number, options?: CallOptions): Promise<JsonObject>;
  runEvents(id: string, query?: EventQuery, options?: CallOptions): Promise<Page<RunEvent>>;
  followRun(id: string, listener: (told: Followed<RunEvent>) => void, options?: FollowOptions): () => void;
  cancelRun(id: string, reason?: string, options?: CallOptions): Promise<void>;
  /** What the workflow as it is now means for a run. Changes nothing. */
  runChanges(id: string, options?: CallOptions): Promise<WorkflowChanges>;
  resumeRun(id: string, resume?: ResumeRun, options?: CallOptions): Promise<RunSummary>;
  signalRun(id: string, event: string, data?: JsonObject, options?: CallOptions): Promise<void>;

  /** What changes any list: the events that summaries are folded from, of all sessions and runs. */
  followAll(listener: (told: Followed<SessionEvent | RunEvent>) => void): () => void;

  reviews(
    query?: PageQuery & { readonly session?: string },
    options?: CallOptions,
  ): Promise<Page<ReviewInfo>>;
  review(id: string, options?: CallOptions): Promise<ReviewDetailsInfo>;
  /** Once: a second answer is refused with `review_answered` or its like. */
  answerReview(id: string, answer: AnswerReview, options?: CallOptions): Promise<ReviewDetailsInfo>;

  artifacts(query?: PageQuery, options?: CallOptions): Promise<Page<ArtifactInfo>>;
  /** All versions, newest first. */
  artifact(name: string, options?: CallOptions): Promise<Page<ArtifactSource>>;
  /** A new version. Needs `admin`. */
  writeArtifact(name: string, draft: WriteArtifact, options?: CallOptions): Promise<ArtifactSource>;
  rollbackArtifact(name: string, to: number, options?: CallOptions): Promise<ArtifactSource>;
  testArtifact(name: string, test: TestArtifact, options?: CallOptions): Promise<ArtifactTestResult>;

  queryMemory(query: MemoryQueryInfo, options?: CallOptions): Promise<JsonObject>;
  memoryStats(agent: string, options?: CallOptions): Promise<JsonObject>;

  notifications(
    query?: PageQuery & { readonly status?: NotificationInfo['status'] },
    options?: CallOptions,
  ): Promise<Page<NotificationInfo>>;
  retryNotification(id: string, options?: CallOptions): Promise<NotificationInfo>;
  audit(query?: PageQuery, options?: CallOptions): Promise<Page<AuditEntry>>;

  tokens(options?: CallOptions): Promise<Page<TokenInfo>>;
  createToken(token: CreateToken, options?: CallOptions): Promise<CreatedToken>;
  revokeToken(name: string, options?: CallOptions): Promise<void>;

  /** The OpenAPI 3.1 document. */
  openapi(options?: CallOptions): Promise<Json>;
}
