import type { Covered } from '../lib/approved-files.ts';
import type { ErrorJson } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { SessionEvent } from '../log/event.ts';
import type { OpenReview } from '../log/reviews.ts';
import type { RunEvent } from '../log/run-event.ts';
import type { AcceptChanges, WorkflowChanges } from '../log/run-state.ts';
import type { RunSummary } from '../log/run-summary.ts';
import type { SessionSummary } from '../log/session-summary.ts';

/** What a token allows: each role may do what the one before it may. */
export type Role = 'read' | 'run' | 'admin';

/** What every answer that is no success consists of. */
export interface ApiError {
  readonly error: ErrorJson;
  /** Of `changes_undecided` and `bad_decision`: what the changed workflow means for the run. */
  readonly changes?: WorkflowChanges;
}

/** A part of a list. `next` is the `cursor` of the part behind it; absent at the end. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

export interface PageQuery {
  readonly cursor?: string;
  /** 50 by default, 200 at the most. */
  readonly limit?: number;
}

export interface Health {
  readonly status: 'ok';
  readonly version: string;
  readonly uptime_ms: number;
}

export interface Readiness {
  readonly ready: boolean;
  readonly reason?: string;
}

export interface Whoami {
  /** The token's name; with the server's own token, whoever started the server. */
  readonly name: string;
  /** How logs and the audit sign what this token does: `token:ci`, `user:ana`. */
  readonly by: string;
  readonly role: Role;
  readonly version: string;
  /** Whether manifests are reloaded when they change: `telltale dev`. */
  readonly dev: boolean;
  readonly store: string;
}

/** What is wrong with a manifest, in its file. */
export interface ManifestProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

export interface AgentInfo {
  readonly name: string;
  readonly path: string;
  readonly description?: string;
  readonly model: string;
  readonly workflows: readonly string[];
  /** Inputs to try it with. */
  readonly examples: readonly string[];
  /** When it was last loaded. */
  readonly loadedAt: number;
  /** Where the file as it is now cannot be used: the one before it is in force, if there was one. */
  readonly problems: readonly ManifestProblem[];
  /** False where no version of it could be loaded. */
  readonly usable: boolean;
}

/** A model that a session can be started with in place of the agent's own. */
export interface ModelChoice {
  /** `provider/model`, or a name of the agent's `models`. */
  readonly model: string;
  /** Whether the manifest names it, or a provider has it whose key is set. */
  readonly from: 'agent' | 'provider';
}

export interface AgentDetails extends AgentInfo {
  readonly models: readonly ModelChoice[];
  /** The manifest that is in force. */
  readonly manifest: JsonObject | null;
  /** The files it consists of, as they are on the disk now. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
}

export interface WorkflowInfo {
  readonly agent: string;
  readonly name: string;
  readonly description?: string;
  readonly triggers: readonly JsonObject[];
  /** JSON Schema of its input. */
  readonly input?: JsonObject;
  readonly graph: ApiGraph;
}

/** As `WorkflowGraph` of "telltale". */
export interface ApiGraph {
  readonly workflow: string;
  readonly nodes: readonly {
    readonly id: string;
    readonly kind: 'start' | 'end' | 'state' | 'final' | 'step' | 'split';
    readonly name: string;
    readonly lines: readonly string[];
    readonly group?: string;
  }[];
  readonly groups: readonly {
    readonly id: string;
    readonly name: string;
    readonly type: string;
    readonly group?: string;
  }[];
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    readonly kind: 'next' | 'error' | 'open' | 'back';
    readonly label?: string;
  }[];
}

export interface SessionQuery extends PageQuery {
  readonly status?: readonly string[];
  readonly agent?: string;
}

export interface StartSession {
  readonly agent: string;
  readonly input: string;
  readonly vars?: JsonObject;
  readonly chat?: boolean;
  readonly max_turns?: number;
  readonly user?: string;
  /** In place of the manifest's own: `provider/model`, or a name of the agent's `models`. */
  readonly model?: string;
}

export interface ForkSession {
  /** The last event that the new session has in common with the other. */
  readonly seq: number;
  /** In place of the message that the event is, or a further one. */
  readonly message?: string;
  /** `provider/model`, or a name of the agent's `models`. */
  readonly model?: string;
  readonly vars?: JsonObject;
}

export interface StartRun {
  readonly agent: string;
  readonly workflow: string;
  readonly input?: JsonObject;
  readonly vars?: JsonObject;
}

/** An event of a chain of causes, from the one that was asked for to the first. */
export interface WhyChain {
  readonly events: readonly (SessionEvent | RunEvent)[];
  /** A cause that is on no log any more. */
  readonly lost?: { readonly stream: string; readonly seq: number };
}

/** What waits for a person; `ReviewDetailsInfo` has the rest. */
export type ReviewInfo = OpenReview;

export interface ReviewDetailsInfo extends ReviewInfo, Covered {
  readonly input?: JsonObject;
  /** What would be executed, of a plan. */
  readonly plan?: readonly JsonObject[];
  /** The review in whose place it is asked, and what had changed. */
  readonly replaces?: { readonly review: string; readonly changed: readonly string[] };
  /** `approved`, `rejected` or `withdrawn`; absent while it is open. */
  readonly answer?: string;
  readonly choice?: string;
  readonly by?: string;
  readonly note?: string;
  readonly answeredAt?: number;
  /** Approved for the rest of the session. */
  readonly forSession?: boolean;
}

/** One of `answer`, `choice` or `text`. */
export interface AnswerReview {
  readonly answer?: 'approved' | 'rejected';
  /** One of the review's options. */
  readonly choice?: string;
  /** An option in so many words; on an escalation, what the agent is told to try again with. */
  readonly text?: string;
  readonly note?: string;
  /** With an approval: for the rest of the session, where the review has `always`. */
  readonly always?: boolean;
}

/** Events of a session or run behind one that is known, `limit` (10,000 at the most) at a time. */
export interface EventQuery {
  readonly after?: number;
  readonly limit?: number;
}

export interface ResumeSession {
  /** Goes on although the manifest is not the one that it started with. */
  readonly accept_changes?: boolean;
  /** Turns of the whole session at the most, in place of the limit it has had. */
  readonly max_turns?: number;
}

export interface ResumeRun {
  /** Goes on with the workflow as it is now; with decisions, where steps are in doubt. */
  readonly accept_changes?: AcceptChanges;
}

export interface SignalRun {
  readonly event: string;
  readonly data?: JsonObject;
}

export interface RunQuery extends PageQuery {
  /** Only runs that this session or run set off or called. */
  readonly session?: string;
  readonly workflow?: string;
  readonly status?: readonly string[];
}

export interface WriteArtifact {
  readonly source: string;
  readonly methods: readonly string[];
  readonly description?: string;
}

export interface CreateToken {
  readonly name: string;
  readonly role: Role;
}

/** The token itself is shown this once. */
export interface CreatedToken extends TokenInfo {
  readonly token: string;
}

export interface ArtifactInfo {
  readonly name: string;
  readonly version: number;
  readonly methods: readonly string[];
  readonly description?: string;
  readonly author: string;
  readonly parent?: number;
  readonly restores?: number;
  readonly at: number;
}

export interface ArtifactSource extends ArtifactInfo {
  readonly source: string;
}

export interface TestArtifact {
  readonly method: string;
  readonly args?: readonly Json[];
  readonly context?: JsonObject;
  readonly seed?: string;
  /** The newest if absent. */
  readonly version?: number;
  /** In place of a version's: what a draft would say. */
  readonly source?: string;
}

export interface ArtifactTestResult {
  readonly ok: boolean;
  readonly value?: Json;
  readonly meant?: Json;
  readonly reason?: string;
  readonly message?: string;
  readonly ms: number;
  readonly context: JsonObject;
}

export interface MemoryQueryInfo {
  /** The agent whose graph is asked. */
  readonly agent: string;
  readonly query?: string;
  readonly symbol?: string;
  readonly path?: string;
  readonly depth?: number;
  readonly limit?: number;
}

/** A notification that was sent, is to be sent again, or was given up. */
export interface NotificationInfo {
  readonly id: string;
  readonly at: number;
  /** The channel's name and kind. */
  readonly channel: string;
  readonly kind: 'webhook' | 'desktop' | 'command';
  readonly agent: string;
  /** What it is about: `session.failed`, `review.requested`, `stuck`, `notify`. */
  readonly about: string;
  readonly message: string;
  readonly stream?: string;
  readonly seq?: number;
  readonly status: 'sent' | 'waiting' | 'dead';
  readonly attempts: number;
  readonly nextAt?: number;
  readonly error?: string;
}

export interface AuditEntry {
  readonly n: number;
  readonly at: number;
  readonly who: string;
  readonly role: Role;
  /** `POST /sessions`. */
  readonly what: string;
  /** The session, run, review or artifact that it is about. */
  readonly about?: string;
  readonly status: number;
}

export interface TokenInfo {
  readonly name: string;
  readonly role: Role;
  readonly createdAt: number;
  /** Who made it: `user:ana`, `token:ci`. Tokens of older versions do not say. */
  readonly createdBy?: string;
  readonly lastUsedAt?: number;
  /**
   * The name that requests with it are signed with. Only where the store has a hash of a token, and no token of that
   * name: then `name` is the beginning of the hash, and `createdAt` is 0.
   */
  readonly claims?: string;
}

export type { RunSummary, SessionSummary };

/** A process that works for a fleet. */
export interface WorkerInfo {
  readonly host: string;
  readonly pid: number;
  /** What it was started as: `serve`, `worker`. */
  readonly role: string;
  readonly version: string;
  /** Where it answers HTTP, if it does. */
  readonly url?: string;
  /** Sessions and runs that it works on at most. */
  readonly capacity: number;
  readonly working: number;
  /** The streams that it owns. */
  readonly holds: number;
  readonly startedAt: number;
  /** Since its last sign of life. */
  readonly quietMs: number;
  readonly alive: boolean;
  readonly draining?: true;
}

/** A session or run that no worker could go on with. */
export interface LaidAsideInfo {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly at: number;
  /** The code of the reason: `manifest_changed`. */
  readonly code?: string;
  readonly why: string;
}

/** The processes that share a store, and what waits for them. */
export interface FleetInfo {
  readonly fleet: string;
  readonly workers: readonly WorkerInfo[];
  readonly queue: {
    readonly waiting: number;
    readonly taken: number;
    readonly laidAside: number;
    /** For how long the oldest has been waiting. */
    readonly lagMs: number;
  };
  readonly laidAside: readonly LaidAsideInfo[];
}
