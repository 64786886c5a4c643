import { NONE } from '../kernel/grow.ts';
import type { beginSession } from './begin-session.ts';
import { createTalk } from './chat/talk.ts';
import type { Begin } from './children/lineage.ts';
import { createRest } from './children/rest.ts';
import { choiceOf } from './choice-of.ts';
import type { endSession, takeUp, WorkEnd, workOn } from './run-session.ts';
import type { RuntimeEdges } from './runtime-edges.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionEdges } from './session-edges.ts';
import { createSessionFace, type Live, type LiveSession } from './session-face.ts';
import type { SessionLog } from './session-log.ts';
import { cancelOnAbort, createStop } from './stop.ts';
import { toSessionEdges } from './to-session-edges.ts';
import type { wireSession } from './wire-session.ts';

/** What a session is run with, loaded when the first one begins. */
export interface LiveParts {
  readonly beginSession: typeof beginSession;
  readonly wireSession: typeof wireSession;
  readonly takeUp: typeof takeUp;
  readonly workOn: typeof workOn;
  readonly endSession: typeof endSession;
}

/** A session that this process works on, from the moment it is asked for. `onEnd` is told when it is over. */
export function createLiveSession(
  edges: RuntimeEdges,
  begin: Begin,
  parts: () => Promise<LiveParts>,
  onEnd?: (session: LiveSession) => void,
): LiveSession {
  const live: Live = {
    // A copy: docs/decisions/copies.md
    ...{
      edges,
      begin,
      stop: createStop(),
      talk: createTalk(),
      rest: createRest(),
      log: undefined,
      writer: undefined,
      prepared: undefined,
      hasBegun: false,
      early: NONE,
      session: undefined as never, // it holds the promises of what is begun below
      queue: undefined,
      lastSeq: undefined,
    },
  };
  const loading = parts();
  const ready = open(live, loading);
  ready.catch(ignore); // whoever waits for the result hears of it there
  const result = run(live, loading, ready, onEnd);
  result.catch(ignore); // a caller that only reads events is not ended by an error
  live.session = createSessionFace(live, { ready, result });
  return live.session;
}

/** Makes the session this process's own, up to its first event. */
async function open(live: Live, loading: Promise<LiveParts>): Promise<SessionEdges> {
  const { edges, begin, stop } = live;
  const { beginSession } = await loading;
  const prepared = await edges.shelf.prepare(begin.agent, choiceOf(begin).model);
  live.prepared = prepared;
  const opened = await beginSession(edges, begin, stop, prepared, (made) => {
    live.writer = made.writer;
    live.log = made.log;
    // A new one is here from its first event on: its id may be another's.
    if (begin.kind === 'resume') edges.here.set(begin.id, live.session);
    else onFirst(made.log, () => edges.here.set(begin.id, live.session));
    live.queue?.attach(made.log);
    for (const early of live.early) {
      early.end?.(); // of a log that has given way to this one
      early.end = made.log.subscribe(early.listener);
    }
  });
  live.hasBegun = true;
  live.early = NONE;
  return toSessionEdges(live, opened);
}

async function run(
  live: Live,
  loading: Promise<LiveParts>,
  ready: Promise<SessionEdges>,
  onEnd: ((session: LiveSession) => void) | undefined,
): Promise<SessionResult<unknown>> {
  const { begin } = live;
  const forgetSignal = cancelOnAbort(live.stop, choiceOf(begin).signal);
  try {
    const edges = await ready;
    const parts = await loading;
    if (begin.kind === 'start' && begin.start.queued === true)
      return readResult(begin, await leaveToOthers(edges.log));
    const wired = await parts.wireSession(edges);
    let end: WorkEnd;
    try {
      const taken = await parts.takeUp(wired);
      end = taken.kind === 'let_go' ? taken : await parts.workOn(wired, taken.left);
    } catch (thrown) {
      end = { kind: 'threw', thrown };
    }
    const { result } = await parts.endSession(wired, end);
    // In one commit with the last event. Where that fails, so does the result, and it is tried again at the end.
    edges.writer.release().catch(ignore);
    return readResult(begin, await result);
  } finally {
    forgetSignal();
    try {
      await live.writer?.release(); // what was queued when it was let go is on the log after this
    } finally {
      letGo(live);
      onEnd?.(live.session);
    }
  }
}

function letGo(live: Live): void {
  const { edges, begin, queue, log, prepared, session } = live;
  live.lastSeq = log?.committedSeq() ?? 0;
  queue?.end(live.lastSeq);
  if (prepared !== undefined) edges.shelf.release(prepared);
  if (edges.here.get(begin.id) === session) edges.here.delete(begin.id);
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

/** It is on the log: who takes it up goes on with it. */
async function leaveToOthers(log: SessionLog): Promise<SessionResult> {
  await log.flushed();
  const { id, totals } = log.state;
  const usage = { input: totals.input, output: totals.output };
  return { session: id, status: 'interrupted', turns: totals.turns, usage, cost_usd: totals.cost_usd };
}

/** The result as the agent's output schema gives it to programs; on the log, and to a parent, it is what the model wrote. */
const readResult = ({ agent, lineage }: Begin, result: SessionResult): SessionResult<unknown> =>
  result.result === undefined || agent.readResult === undefined || lineage !== undefined
    ? result
    : { ...result, result: agent.readResult(result.result) };
