import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause, ObservedEvent, ParentRef } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { Store } from '../../store/store.ts';
import type { Guidance } from '../guided/guidance.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { byteSize } from '../metadata/metadata.ts';
import { readEvents, readSession } from '../read-session.ts';
import type { ResumeOptions, SessionResult, StartOptions } from '../runtime-types.ts';
import type { StopReason } from '../stop.ts';
import type { IdleStatus } from './idle.ts';

/** What whoever begins a session asked for. */
export const choiceOf = (begin: Begin) => (begin.kind === 'start' ? begin.start : begin.resume);

/** What a sub-agent's session has of the one that it works for. */
export interface Lineage {
  readonly parent: ParentRef;
  /** The session or run at the top: it takes turns with others for all that is below it. */
  readonly group: string;
  /** The start of the action that it stands for. */
  readonly cause: Cause | undefined;
  /** Fields of metadata that it has in common with its parent, and the values they begin with: `inherit: share`. */
  readonly sharedFields: ReadonlySet<string>;
  readonly shared: JsonObject;
  /** Its parent's metadata, for its first prompt: `metadata.inherit: read`. */
  readonly shown: JsonObject | undefined;
  /** The values its variables of the same names begin with, unless `metadata.inherit: none`. */
  readonly variables: JsonObject;
  /** Its parent's variables that are exposed to it, for its first prompt: `metadata.inherit: read`. */
  readonly shownVariables: JsonObject | undefined;
  /** Whose variables of `key: user` its parent has. */
  readonly user: string | undefined;
  /** What `${agent.parent}` is at this moment, unless `metadata.inherit: none`. */
  readonly view: (() => JsonObject) | undefined;
  /** What is left of its parent's budget. */
  readonly balance: number | undefined;
  readonly limits: LimitsAbove;
}

/** The limits of all sessions above one, which share what those below them use. */
export interface LimitsAbove {
  /** Whether there is one that has to be asked for. */
  readonly isBounded: boolean;
  /** Resolves when all that counts for the session above counts for those above it, too. */
  readonly counted: () => Promise<void>;
  /** The limit that is used up, if one is. */
  readonly reached: () => RuntimeError | undefined;
}

/** How a session comes to be worked on. */
export type Begin =
  | {
      readonly kind: 'start';
      readonly id: string;
      readonly agent: LoadedAgent<unknown>;
      readonly start: StartOptions;
      readonly lineage?: Lineage;
      /** Where a run leads it. */
      readonly lead?: Guidance;
    }
  | {
      readonly kind: 'resume';
      readonly id: string;
      readonly agent: LoadedAgent<unknown>;
      readonly resume: ResumeOptions<unknown>;
      readonly lineage?: Lineage;
      readonly lead?: Guidance;
    };

/** A session, as the one above it holds it. */
export interface ChildSession {
  /** As it is on the log, JSON: what an agent in code reads it as is for those who start it themselves. */
  readonly result: Promise<SessionResult<unknown>>;
  subscribe(listener: (event: ObservedEvent) => void): () => void;
  readonly rest: Pick<IdleStatus, 'reviews' | 'onMoved'>;
  /** What it is by now, as far as it has begun. The session's own: it changes. */
  peek(): SessionState | undefined;
  /** Ends the exchange in hand, of a chat. */
  breakOff(): void;
  /** Nothing more is said to it, a chat. */
  finish(): void;
  /** Ends it; the first reason counts. `result` says when it has ended. */
  stop(reason: StopReason): void;
}

/** Begins a session. A port: what runs sessions is above what runs actions. */
export type Spawn = (begin: Begin) => ChildSession;

/** Sub-agents below the agent that nobody called, one below the other. */
export const MAX_DEPTH = 5;

export const DEPTH_LIMIT = 'depth_limit';

/** `agents`: from the first to the one that was not called any more. */
export const tooDeep = (agents: readonly string[]) =>
  new RuntimeError(
    DEPTH_LIMIT,
    `Agents can call each other at most ${MAX_DEPTH} levels deep, and this call would be one more: ${agents.join(' → ')}.`,
    { hint: 'Do it without another agent. If agents call each other in a cycle, remove one of the calls.' },
  );

const LIMIT_HINT =
  'Ask it for less. How far it may go is in "limits" and "budget" of its manifest, and of those that called it.';

/** What the caller of a sub-agent hears of its failure: limits under their own code, all else as `agent_failed`. */
function childFailed(agent: string, session: string, error: ErrorJson): RuntimeError {
  const { code, message, hint, retryable } = error;
  if (code === DEPTH_LIMIT) return new RuntimeError(code, message, { hint });
  const passed = code.startsWith('limit_');
  return new RuntimeError(
    passed ? code : 'agent_failed',
    `The agent "${agent}" (${session}) failed: ${passed ? '' : `${code}: `}${message}`,
    { hint: passed ? LIMIT_HINT : hint, retryable },
  );
}

const childStalled = (agent: string, session: string, message: string) =>
  new RuntimeError('agent_stalled', `The agent "${agent}" (${session}) stalled: ${message}`, {
    hint: 'Ask it for less at once, or say more clearly what it should do.',
  });

const childCancelled = (agent: string, session: string) =>
  new RuntimeError('agent_cancelled', `The agent "${agent}" (${session}) was cancelled.`, {
    hint: `To see by whom and why: telltale logs ${session}`,
  });

const childInterrupted = (agent: string, session: string, why: string | undefined) =>
  new RuntimeError(
    'agent_interrupted',
    `The agent "${agent}" (${session}) was released before its end${why === undefined ? '.' : `: ${why}`}`,
    { hint: 'Call it again, or resume the session that called it.', retryable: true },
  );

export const notInSession = (agent: string) =>
  new RuntimeError('agent_outside', `The agent "${agent}" can be called only from a session.`, {
    hint: 'Start a session of it with runtime.start.',
  });

/** Ids of sessions are for whoever starts them to choose: what is found under a sub-agent's may be a stranger's. */
export const idTaken = (agent: string, session: string) =>
  new RuntimeError(
    'agent_id_taken',
    `The agent "${agent}" cannot be called here: its session would be ${session}, which is another one.`,
    { hint: 'Call it again under another id.' },
  );

const resultTooLarge = (agent: string, session: string, maxBytes: number) =>
  new RuntimeError(
    'output_too_large',
    `The result of the agent "${agent}" (${session}) has more than ${maxBytes} bytes.`,
    { hint: 'Ask it for less, or let it write to a file.' },
  );

export type ChildEnd = Pick<SessionResult, 'session' | 'status' | 'result' | 'error'>;

/** Who cancels a sub-agent's session with the action that called it. */
export const BY_PARENT = 'parent';

const MAX_RESULT_BYTES = 1024 * 1024;

/** What a sub-agent's end is to the action that called it: its result, or the error that this throws. */
export function resultOf(agent: string, { session, status, result = null, error }: ChildEnd): Json {
  switch (status) {
    case 'completed':
      if (byteSize(result) > MAX_RESULT_BYTES) throw resultTooLarge(agent, session, MAX_RESULT_BYTES);
      return result;
    case 'failed':
      throw childFailed(agent, session, error ?? NO_REASON);
    case 'stalled':
      throw childStalled(agent, session, (error ?? NO_REASON).message);
    case 'cancelled':
      throw childCancelled(agent, session);
    case 'waiting':
    case 'interrupted':
      throw childInterrupted(agent, session, error?.message);
  }
}

const NO_REASON = { code: 'failed', message: 'it says no reason.', retryable: false };

/**
 * How a sub-agent's session ended before this process came; undefined where it goes on. One that was cancelled with its
 * action goes on, too: that the action is run again means that nobody has written down its end.
 */
export async function endedBefore(store: Store, session: string): Promise<ChildEnd | undefined> {
  const { status, result, error } = await readSession(store, session);
  if (status === 'running' || status === 'waiting') return undefined;
  if (status === 'cancelled' && (await cancelledBy(store, session)) === BY_PARENT) return undefined;
  return {
    session,
    status,
    ...(result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
  };
}

async function cancelledBy(store: Store, session: string): Promise<string | undefined> {
  const events = await readEvents(store, session);
  const end = events.findLast((event) => event.type === 'session.cancelled');
  return end?.type === 'session.cancelled' ? end.by : undefined;
}
