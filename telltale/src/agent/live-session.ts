import { type RuntimeError, toRuntimeError } from '../lib/errors.ts';
import { usageOf } from '../log/event.ts';
import { dropGathered } from '../log/snapshot.ts';
import type { AgentSession, createAgentSession } from './agent-session.ts';
import type { beginSession, Opened } from './begin-session.ts';
import { createChatControl } from './chat-control.ts';
import type { Begin } from './children/child-session.ts';
import { choiceOf } from './children/child-session.ts';
import { createIdleStatus } from './children/idle.ts';
import { hasEnded } from './ending/has-ended.ts';
import type { endSession, resumeWork, runLoop, SessionWorkEnd } from './run-session.ts';
import type { RuntimeDeps, Seat } from './runtime-deps.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionDeps } from './session-edges.ts';
import { createSessionHandle, type Live, type LiveSession } from './session-handle.ts';
import type { SessionLog } from './session-log.ts';
import { cancelOnAbort, createStop } from './stop.ts';

/** A session that this process works on, from the moment it is asked for. It has a seat among `seats` until it is over. */
export function createLiveSession(
  deps: RuntimeDeps,
  begin: Begin,
  parts: () => Promise<LiveParts>,
  seats?: Set<Seat>,
): LiveSession {
  const live: Live = {
    deps,
    begin,
    stop: createStop(),
    chat: createChatControl(),
    rest: createIdleStatus(),
    log: undefined,
    writer: undefined,
    prepared: undefined,
    early: [],
    seat: { session: undefined },
    queue: undefined,
    lastSeq: undefined,
  };
  const loading = parts();
  const ready = open(live, loading);
  ready.catch(ignore); // whoever waits for the result hears of it there
  const result = runLive(live, loading, ready, seats);
  result.catch(ignore); // a caller that only reads events is not ended by an error
  const session = createSessionHandle(live, { ready, result });
  live.seat.session = session;
  seats?.add(live.seat);
  return session;
}

/** Makes the session this process's own, up to its first event. */
async function open(live: Live, loading: Promise<LiveParts>): Promise<SessionDeps> {
  const { deps, begin, stop } = live;
  const { beginSession } = await loading;
  const prepared = await deps.shelf.prepare(begin.agent, choiceOf(begin).model);
  live.prepared = prepared;
  const opened = await beginSession(deps, begin, stop, prepared, (made) => {
    live.writer = made.writer;
    live.log = made.log;
    // A new one is here from its first event on: its id may be another's.
    if (begin.kind === 'resume') deps.here.set(begin.id, live.seat);
    else onFirst(made.log, () => deps.here.set(begin.id, live.seat));
    live.queue?.attach(made.log);
    for (const early of live.early ?? []) {
      early.end?.(); // of a log that has given way to this one
      early.end = made.log.subscribe(early.listener);
    }
  });
  live.early = undefined;
  return toSessionDeps(live, opened);
}

function ignore(): void {
  // somebody else hears of it
}

/** Calls back at the first event that is committed, before anybody else hears of it. */
function onFirst(log: SessionLog, then: () => void): void {
  const forget = log.subscribe(() => {
    forget();
    then();
  });
}

interface LiveSessionStart extends Pick<SessionDeps, 'stop' | 'chat' | 'rest'> {
  readonly deps: RuntimeDeps;
  readonly begin: Begin;
}

/** One record of what a session has of its runtime, of its beginning and of itself. */
function toSessionDeps({ deps, begin, stop, chat, rest }: LiveSessionStart, opened: Opened): SessionDeps {
  const chosen = begin.kind === 'start' ? begin.start.onWaiting : begin.resume.onWaiting;
  return {
    runtime: deps,
    prepared: opened.prepared,
    log: opened.log,
    variables: opened.variables,
    writer: opened.writer,
    model: opened.model,
    origin: opened.origin,
    resumed: opened.resumed,
    sentBefore: opened.sentBefore,
    hasMail: opened.hasMail,
    invoke: opened.invoke,
    lineage: opened.lineage,
    lead: opened.lead,
    stop,
    chat,
    rest,
    group: begin.lineage?.group ?? begin.id,
    onWaiting: chosen ?? deps.onWaiting ?? 'release',
  };
}

/** What a session is run with, loaded when the first one begins. */
export interface LiveParts {
  readonly beginSession: typeof beginSession;
  readonly createAgentSession: typeof createAgentSession;
  readonly resumeWork: typeof resumeWork;
  readonly runLoop: typeof runLoop;
  readonly endSession: typeof endSession;
}

/** What is to be done when a session is over. */
interface LiveSessionEnding {
  readonly live: Live;
  readonly forgetSignal: () => void;
  readonly seats: Set<Seat> | undefined;
  readonly resolve: (result: SessionResult<unknown>) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Works on a session that is `ready`, and gives its result once this process has let go of it. */
const runLive = (
  live: Live,
  loading: Promise<LiveParts>,
  ready: Promise<SessionDeps>,
  seats: LiveSessionEnding['seats'],
): Promise<SessionResult<unknown>> =>
  new Promise((resolve, reject) => {
    const forgetSignal = cancelOnAbort(live.stop, choiceOf(live.begin).signal);
    void beginRun({ live, forgetSignal, seats, resolve, reject }, loading, ready); // it never rejects
  });

async function beginRun(
  ending: LiveSessionEnding,
  loading: Promise<LiveParts>,
  ready: Promise<SessionDeps>,
): Promise<void> {
  const { begin } = ending.live;
  try {
    const deps = await ready;
    const parts = await loading;
    if (begin.kind === 'start' && begin.start.queued === true)
      return over(ending, leaveInterrupted(deps.log));
    const wired = await parts.createAgentSession(deps);
    const ended = (end: SessionWorkEnd) => void over(ending, resultOf(parts, wired, end));
    const failed = (thrown: unknown) => ended({ kind: 'threw', thrown });
    try {
      const taken = await parts.resumeWork(wired);
      if (taken.kind === 'let_go') ended(taken);
      else parts.runLoop(wired, taken.left, { ended, failed });
    } catch (thrown) {
      failed(thrown);
    }
  } catch (thrown) {
    return over(ending, Promise.reject(thrown));
  }
}

async function resultOf(parts: LiveParts, wired: AgentSession, end: SessionWorkEnd): Promise<SessionResult> {
  await undefined; // what came with the end of the work comes first
  const { result } = await parts.endSession(wired, end);
  // In one commit with the last event. Where that fails, so does the result, and it is tried again at the end.
  wired.services.deps.writer.release().catch(() => undefined);
  return result;
}

/** Lets go of the session, whatever came of it, and says what that is. */
async function over(ending: LiveSessionEnding, outcome: Promise<SessionResult>): Promise<void> {
  const { live, forgetSignal, seats, resolve, reject } = ending;
  let unreleased: RuntimeError | undefined;
  try {
    let result: SessionResult<unknown>;
    try {
      result = readResult(live.begin, await outcome);
    } finally {
      forgetSignal();
      try {
        await live.writer?.release(); // what was queued when it was let go is on the log after this
      } catch (thrown) {
        unreleased = toRuntimeError(thrown);
      }
      releaseSession(live);
      seats?.delete(live.seat);
      live.seat.session = undefined;
    }
    resolve(unreleased === undefined ? result : withUnreleasedError(live, result, unreleased));
  } catch (thrown) {
    reject(thrown);
  }
}

/**
 * A full disk takes no letting go either; that is tried again by itself, and changes nothing of an end that is written.
 * Of a session that was interrupted, what was on its way may be lost, and is not counted.
 */
const withUnreleasedError = (
  { log }: Live,
  result: SessionResult<unknown>,
  error: RuntimeError,
): SessionResult<unknown> =>
  result.status === 'interrupted' && result.error === undefined
    ? { ...result, error: error.toJSON(), turns: log?.committedTurns() ?? result.turns }
    : result;

function releaseSession(live: Live): void {
  const { deps, begin, queue, log, prepared, seat, rest } = live;
  live.lastSeq = log?.committedSeq() ?? 0;
  queue?.end(live.lastSeq);
  rest.resting = undefined;
  // With an action under way, what comes late of it is still looked up.
  if (log !== undefined && hasEnded(log.state.status) && log.state.open.size === 0) dropGathered(log.state);
  if (prepared !== undefined) deps.shelf.release(prepared);
  if (deps.here.get(begin.id) === seat) deps.here.delete(begin.id);
}

/** It is on the log: who takes it up goes on with it. */
async function leaveInterrupted(log: SessionLog): Promise<SessionResult> {
  await log.flushed();
  const { id, totals } = log.state;
  return {
    session: id,
    status: 'interrupted',
    turns: totals.turns,
    usage: usageOf(totals),
    cost_usd: totals.cost_usd,
  };
}

/** The result as the agent's output schema gives it to programs; on the log, and to a parent, it is what the model wrote. */
const readResult = ({ agent, lineage }: Begin, result: SessionResult): SessionResult<unknown> =>
  result.result === undefined || agent.readResult === undefined || lineage !== undefined
    ? result
    : { ...result, result: agent.readResult(result.result) };
