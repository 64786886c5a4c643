import type { ObservedEvent, SessionEvent, Usage } from '../events/event.ts';
import type { SessionState, SessionStatus } from '../events/state.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import type { ErrorJson } from '../kernel/runtime-error.ts';
import type { Project } from '../manifest/project/project.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Model } from '../models/model.ts';
import type { Store } from '../store/store.ts';
import type { OpenMcpServer } from '../targets/mcp/mcp-server.ts';
import type { Approve } from '../targets/target.ts';

/** An agent that can be run: its manifest, all that this imports, and where it was read. */
export interface LoadedAgent {
  readonly manifest: AgentManifest;
  readonly project: Project;
  /** The manifest's file, absolute. */
  readonly path: string;
  /** Its folder: paths in it are relative to this. */
  readonly folder: string;
  /** SHA-256 over everything it consists of. */
  readonly hash: string;
}

export interface RuntimeOptions {
  /** A store, or where it is: `sqlite:./telltale.db`, `memory`. */
  readonly store?: Store | string;
  readonly durability?: 'power' | 'process';
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Environment variables: keys of providers, and what `permissions.environment` shows. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin. */
  readonly cwd?: string;
  /** Asks a person where a permission says `ask`; without it the answer is no. */
  readonly approve?: Approve;
  /** Starts the MCP servers that agents import; `createRuntime` of "telltale" brings one. */
  readonly mcp?: OpenMcpServer;
  /** Called at named places of a run: a test ends the process there. */
  readonly crashPoint?: (name: string) => void;
}

export interface StartOptions {
  readonly input: string;
  /** In place of the manifest's own. */
  readonly model?: string | Model;
  readonly vars?: JsonObject;
  readonly maxTurns?: number;
  /** Writes the model's turns as a `scripted:` file. */
  readonly record?: string;
  readonly id?: string;
}

export interface ResumeOptions {
  readonly agent?: LoadedAgent;
  readonly model?: string | Model;
  readonly record?: string;
  /** Turns of the whole session at the most, in place of the limit it has had. */
  readonly maxTurns?: number;
  /** Goes on although the manifest is not the one the session started with. */
  readonly acceptChanges?: boolean;
}

export interface SessionResult {
  readonly session: string;
  /** `interrupted`: this process let go of it; it can be resumed. */
  readonly status: Exclude<SessionStatus, 'running'> | 'interrupted';
  readonly result?: Json;
  readonly error?: ErrorJson;
  readonly turns: number;
  readonly usage: Usage;
  readonly cost_usd: number;
}

/** One run of an agent. */
export interface Session {
  readonly id: string;
  /** Every durable event from the first on, after its commit, and live ones as they come. Ends with the session. */
  readonly events: AsyncIterable<ObservedEvent>;
  readonly result: Promise<SessionResult>;
  /** As `events`, by call: cheaper. The returned function ends it. What a listener throws is uncaught, and harms no session. */
  subscribe(listener: (event: ObservedEvent) => void): () => void;
  steer(text: string): Promise<void>;
  cancel(reason?: string): Promise<void>;
  /** Stops at once and lets go of the stream, so that it can be resumed: what Ctrl-C does. */
  interrupt(): Promise<void>;
}

export interface Runtime {
  readonly store: Store;
  start(agent: LoadedAgent, options: StartOptions): Session;
  /** Takes a session over and goes on. Refused while another process works on it. */
  resume(session: string, options?: ResumeOptions): Promise<Session>;
  /** A new session whose log begins as the other's did, up to and with `seq`. */
  fork(session: string, seq: number, options?: { readonly id?: string }): Promise<string>;
  /** The committed events of a session. */
  events(session: string, from?: number): Promise<readonly SessionEvent[]>;
  /** The state after all committed events, or after `seq`. */
  state(session: string, seq?: number): Promise<SessionState>;
  /** Through the inbox: works from any process. */
  steer(session: string, text: string, from?: string): Promise<void>;
  cancel(session: string, reason?: string, from?: string): Promise<void>;
  /** Ends sessions that run here as `interrupted`, and closes the store if it was opened here. */
  close(): Promise<void>;
}
