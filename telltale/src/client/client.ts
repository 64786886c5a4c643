import type { SessionEvent } from '../events/event.ts';
import type { LiveEvent } from '../events/live-event.ts';
import type { WorkflowChanges } from '../events/run-changes.ts';
import type { RunEvent } from '../events/run-event.ts';
import type { RunSummary } from '../events/run-summary.ts';
import type { SessionPrompt } from '../events/session-prompt.ts';
import type { SessionSummary } from '../events/session-summary.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
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
import type { FleetInfo } from './fleet-api.ts';

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
