import type { Fleet, FleetMember } from '../cluster/fleet.ts';
import type { WorkerCapacity } from '../engine/worker-capacity.ts';
import type { FeedReading, FeedView } from '../feeds/feed.ts';
import type { Clock } from '../lib/clock.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { ObservedEvent, SessionEvent } from '../log/event.ts';
import type { OpenReview } from '../log/reviews.ts';
import type { RunEvent } from '../log/run-event.ts';
import type { Usage } from '../log/session-events.ts';
import type { SessionPrompt } from '../log/session-prompt.ts';
import type { Review, SessionState, SessionStatus } from '../log/state.ts';
import type { Memory } from '../memory/memory.ts';
import type { ModelObject } from '../models/model-object.ts';
import type { CountedOpening } from '../prompt/opening.ts';
import type { Store } from '../store/store.ts';
import type { Artifacts } from '../tools/artifacts/artifacts.ts';
import type { ArtifactTest, ArtifactTested } from '../tools/artifacts/test-artifact.ts';
import type { OpenMcpServer } from '../tools/mcp/mcp-server.ts';
import type { Approve } from '../tools/target.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { CauseChain } from './log/read-log.ts';
import type { AnsweredReview } from './reviews/answer-review.ts';
import type { ReviewDetails, ReviewReply } from './reviews/read-review.ts';
import type { ReviewFilter } from './reviews/review-table.ts';
import type { ClientRuns, ClientRunsOptions } from './runs/client-worker.ts';
import type { AskRun } from './runs/run-questions.ts';
import type { Workflows } from './runs/run-types.ts';
import type { OpenSpeech } from './speech.ts';
import type { DerivedTriggers } from './variables/derived-triggers.ts';

/**
 * `release`: the session is let go of, its result has the status `waiting`, and it goes on when it is resumed. `hold`:
 * it stays in this process until somebody answers.
 */
export type OnWaiting = 'release' | 'hold';

export interface RuntimeOptions {
  /** A store, or where it is: `sqlite:./telltale.db`, `postgres://…`, `memory`. */
  readonly store?: Store | string;
  readonly durability?: 'power' | 'process';
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Keys of providers, and what `permissions.environment` shows: `process.env` by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin. */
  readonly cwd?: string;
  /** Folders whose manifests this process loads when they change: agents write no configuration there. */
  readonly served?: readonly string[];
  /** Asks a person where a permission says `ask`; without it, who answers the review: see `reviews` and `answer`. */
  readonly approve?: Approve;
  /**
   * Asks a person what a workflow run asks: the questions of `approval` steps, confirmations, plans, escalations, and calls
   * of steps. Resolves to the answer, or to undefined where it is left for later. Without it, who answers the review.
   */
  readonly ask?: AskRun;
  /** What becomes of a session that has nothing to do but wait for a person; `release` by default. */
  readonly onWaiting?: OnWaiting;
  /** Closes the runtime when it is aborted: sessions that run are interrupted, and can be resumed. */
  readonly signal?: AbortSignal;
  /** Starts the MCP servers that agents import; `createRuntime` of "telltale" brings one. */
  readonly mcp?: OpenMcpServer;
  /** Types of triggers of derived variables, by the name that manifests use: `acme:tone`. */
  readonly derivedTriggers?: DerivedTriggers;
  /** Whose variables of `key: user` sessions have; else `TELLTALE_USER` of `env`, else "local". */
  readonly user?: string;
  /**
   * What no session or run can be told of, such as a store that fails while nobody waits for it. Without it, that is
   * thrown where nobody catches it, and ends most programs: what stays for long gives one.
   */
  readonly onError?: (thrown: unknown) => void;
  /**
   * What this process is among those that share its store (`postgres://…`). Without it, it works on what it is asked for,
   * and takes nothing up by itself.
   */
  readonly member?: FleetMember & { readonly agents?: () => readonly LoadedAgent<unknown>[] };
  /** Called at named places of a run: a test ends the process there. */
  readonly crashPoint?: (name: string) => void;
}

export interface StartOptions {
  readonly input: string;
  /** In place of the manifest's own. */
  readonly model?: string | ModelObject;
  readonly vars?: JsonObject;
  /** In place of the runtime's. */
  readonly user?: string;
  readonly maxTurns?: number;
  /** Writes the model's turns as a `scripted:` file. */
  readonly record?: string;
  readonly id?: string;
  /** In place of the runtime's. */
  readonly onWaiting?: OnWaiting;
  /** Cancels the session when it is aborted; its reason is the session's. */
  readonly signal?: AbortSignal;
  /** A conversation: a final response ends the exchange, and the session waits for what `say` brings. */
  readonly chat?: boolean;
  /** Only written down: it is worked on by whoever takes it up. Its result is then `interrupted`, once it is on the log. */
  readonly queued?: boolean;
}

export interface ResumeOptions<Output = Json> {
  /** Needed where parts of the agent were written in code; else the manifest is read again. */
  readonly agent?: LoadedAgent<Output>;
  readonly model?: string | ModelObject;
  readonly record?: string;
  /** Turns of the whole session at the most, in place of the limit it has had. */
  readonly maxTurns?: number;
  /** Goes on although the manifest is not the one the session started with. */
  readonly acceptChanges?: boolean;
  /** In place of the runtime's. */
  readonly onWaiting?: OnWaiting;
  /** Cancels the session when it is aborted; before the session is taken up, nothing is done. */
  readonly signal?: AbortSignal;
  /** Goes on as a conversation, also where the session was none or has completed. */
  readonly chat?: boolean;
  /** Who has it go on, for its log: `user` by default, `runtime` where nobody asked for it. */
  readonly by?: string;
  /** Done once nothing stands in the way of going on, before the session does: what a refusal has to leave undone. */
  readonly first?: () => Promise<unknown>;
}

/** What a fork has in place of what the session had. It is on the fork's log, and stays when the fork is resumed. */
export interface ForkOptions {
  readonly id?: string;
  /**
   * Where the event is the input or a message of a person: what it says instead. Elsewhere: a further message, which the
   * agent reads in its next turn.
   */
  readonly message?: string;
  /** `provider/model` or `scripted:FILE`. */
  readonly model?: string;
  /** Variables, checked as those of a start. */
  readonly vars?: JsonObject;
  /** Needed with `vars` or `model` where parts of the agent were written in code; else its manifest is read again. */
  readonly agent?: LoadedAgent<unknown>;
}

/** For what only reads: rejects with the signal's reason when it is aborted. */
export interface ReadOptions {
  readonly signal?: AbortSignal;
}

export interface SessionResult<Output = Json> {
  readonly session: string;
  /** `interrupted`: this process let go of it; it can be resumed. */
  readonly status: Exclude<SessionStatus, 'running'> | 'interrupted';
  readonly result?: Output;
  readonly error?: ErrorJson;
  /** What it waits for, where it does. */
  readonly reviews?: readonly Review[];
  /** Those that have ended; where the log could not be written any more, those that are on it. */
  readonly turns: number;
  /**
   * Tokens of all turns and of what they called. Where a provider gave no figures, as of a turn that is cut at its final
   * response, they are counted here, and `estimated` says that a part of them was. `usage` of each `turn.completed` says of which, and
   * what came from a cache.
   */
  readonly usage: Usage;
  readonly cost_usd: number;
}

/**
 * One run of an agent. Its methods can be taken off (`const { steer } = session`) and handed on, as it can be itself.
 */
export interface Session<Output = Json> {
  readonly id: string;
  /** Every durable event from the first on, after its commit, and live ones as they come. Ends with the session. */
  readonly events: AsyncIterable<ObservedEvent>;
  readonly result: Promise<SessionResult<Output>>;
  /**
   * As `events`, by call, from now on: cheaper. Right behind `start` it misses none. The returned function ends it. What a
   * listener throws is uncaught, and harms no session.
   */
  subscribe(listener: (event: ObservedEvent) => void): () => void;
  /**
   * Tells what the model has said of elements that are still open, in its place among the events: what it holds was shown
   * before, and what is shown afterwards comes behind it. For whoever joins in the middle. Undefined where nothing is open.
   * `seq`: the durable event that it stands behind.
   */
  speech(told: (open: OpenSpeech | undefined, seq: number) => void): void;
  /** What the model was asked in a turn, or in the newest one: see `Runtime.prompt`. */
  prompt(turn?: number): Promise<SessionPrompt>;
  /** Puts a message before the agent; rejects with `session_completed` once nobody would read it. */
  steer(text: string): Promise<void>;
  /** The next message of a chat, from its user; one that has completed reads it when it is resumed. Else `not_a_chat`. */
  say(text: string): Promise<void>;
  /** In a chat: ends the turn in hand with all that runs. What was said stays, and the session waits for a message. */
  breakOff(): void;
  /** Has a chat complete as soon as every message is answered. */
  finish(): void;
  /**
   * Ends it, also where it waits or was interrupted; resolves when it has ended, or when whoever works on it by now is told
   * to. One that was interrupted because its runtime closed stays so.
   */
  cancel(reason?: string): Promise<void>;
  /** Stops at once and lets go of the stream, so that it can be resumed: what Ctrl-C does. */
  interrupt(): Promise<void>;
}

/** The feeds of an agent, outside of any session: to try them. */
export interface FeedTrial {
  list(): readonly FeedView[];
  /** From its source, whatever a cache has. Rejects where it cannot be had. */
  read(id: string, options?: ReadOptions): Promise<FeedReading>;
  close(): Promise<void>;
}

export interface FeedTrialOptions {
  /** Variables that feeds may name. */
  readonly vars?: JsonObject;
  /** In place of the manifest's own. */
  readonly model?: string | ModelObject;
}

export interface PromptPreviewOptions {
  /** As in a session that a workflow leads from step to step; by default what the agent's manifest says. */
  readonly led?: boolean;
}

export interface PromptOptions extends ReadOptions {
  /** Needed where parts of the agent were written in code; else its manifest is read again. */
  readonly agent?: LoadedAgent<unknown>;
  /** Shows values of environment variables that stand in the manifest as `${NAME}`: for people who must not see them. */
  readonly hideEnvironment?: boolean;
}

/** Told of every event of the sessions and runs that a runtime works on, after its commit. */
export type Watcher = (event: SessionEvent | RunEvent) => void;

export interface DrainOptions {
  /** 20 s by default. What takes longer is let go of by `close`, and its outcome is not known. */
  readonly withinMs?: number;
  /** Told once, where something is waited for. */
  readonly onWaiting?: (waiting: { readonly calls: number; readonly withinMs: number }) => void;
}

export interface Runtime {
  readonly store: Store;
  /** Where the store is shared by several machines. */
  readonly fleet?: Fleet;
  /** Where this process works on so many sessions and runs at once and no more. */
  readonly places?: Pick<WorkerCapacity, 'capacity' | 'taken' | 'free' | 'reserve' | 'onFree'>;
  /** Every durable event of all sessions and runs that are worked on here. The returned function ends it. */
  watch(watcher: Watcher): () => void;
  /** A session that is worked on here, sub-agents' included. */
  session(id: string): Session<unknown> | undefined;
  /** Loads what sessions are run with ahead of the first one, which else waits for it. */
  preload(): Promise<void>;
  /** Why an event happened: the events that led to it, across streams. */
  why(stream: string, seq: number): Promise<CauseChain>;
  /** The artifacts of the store. */
  artifacts(): Promise<Artifacts>;
  /** Asks a source as a run would, in the sandbox. It may ask the artifacts of the store. */
  testArtifact(test: Omit<ArtifactTest, 'others'>): Promise<ArtifactTested>;
  start<Output>(agent: LoadedAgent<Output>, options: StartOptions): Session<Output>;
  /** Takes a session over and goes on. Refused while another process works on it. */
  resume<Output = Json>(session: string, options?: ResumeOptions<Output>): Promise<Session<Output>>;
  /** A new session whose log begins as the other's did, up to and with `seq`, but for what the options change. */
  fork(session: string, seq: number, options?: ForkOptions): Promise<string>;
  /** The committed events of a session. */
  events(session: string, from?: number, options?: ReadOptions): Promise<readonly SessionEvent[]>;
  /** The state after all committed events, or after `seq`; rejects with `event_unknown` where the log has no such event. */
  state(session: string, seq?: number, options?: ReadOptions): Promise<SessionState>;
  /** Through the inbox: works from any process. Rejects with `session_completed` where nobody would read it. */
  steer(session: string, text: string, from?: string): Promise<void>;
  /**
   * Ends it: through its inbox where a process works on it, else at once. One that has ended stays as it is. A sub-agent's
   * ends when its caller goes on, and one whose workflow has completed steps to undo when it is resumed, since that takes
   * its agent.
   */
  cancel(session: string, reason?: string, from?: string): Promise<void>;
  /** Workflows, on their own or set off by agents. */
  readonly workflows: Workflows;
  /** Runs whose tasks a client outside works on, instead of agents: an MCP client. */
  forClients(options?: ClientRunsOptions): ClientRuns;
  /** The feeds of an agent, to try them. Close it when you are done. */
  feeds(agent: LoadedAgent<unknown>, options?: FeedTrialOptions): Promise<FeedTrial>;
  /** What a session of the agent that began now would be sent before its first message, by parts and with tokens. */
  preview(agent: LoadedAgent<unknown>, options?: PromptPreviewOptions): Promise<CountedOpening>;
  /**
   * What a session's model was asked in a turn, or in the newest one: messages, tools and options, rebuilt from the log,
   * with tokens by part and what is new since the turn before. `match` says whether it is what was sent. Rejects with
   * `turn_unknown` where the session has no such turn.
   */
  prompt(session: string, turn?: number, options?: PromptOptions): Promise<SessionPrompt>;
  /** The knowledge graph of a folder. It is closed with the runtime. */
  memory(folder: string): Promise<Memory>;
  /** What waits for a person, over all sessions and runs of the store, oldest first. */
  reviews(filter?: ReviewFilter): Promise<readonly OpenReview[]>;
  /** All that is known of a review, open or answered. Rejects with `review_unknown`. */
  review(review: string): Promise<ReviewDetails>;
  /** Answers a review, once: works from any process. Its session goes on if somebody works on it, else when it is resumed. */
  answer(review: string, answer: ReviewReply): Promise<AnsweredReview>;
  /**
   * Before `close`, where others go on with what runs here: takes nothing more, lets go at once of what may be gone on
   * with, and waits for calls that must not be made twice.
   */
  drain(options?: DrainOptions): Promise<void>;
  /** Ends sessions that run here as `interrupted`, and closes the store if it was opened here. */
  close(): Promise<void>;
}
