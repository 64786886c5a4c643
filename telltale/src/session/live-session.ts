import { takeSlotFor } from '../engine/slots.ts';
import type { ObservedEvent } from '../events/event.ts';
import { openReviews } from '../events/fold-reviews.ts';
import type { StreamWriter } from '../store/store.ts';
import type { beginSession } from './begin-session.ts';
import { createTalk } from './chat/talk.ts';
import type { Begin, ChildSession } from './children/lineage.ts';
import { createRest, waitsFor } from './children/rest.ts';
import { choiceOf } from './choice-of.ts';
import { createEventQueue } from './event-queue.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { runSession } from './run-session.ts';
import type { RuntimeEdges } from './runtime-edges.ts';
import type { Session, SessionResult } from './runtime-types.ts';
import type { SessionLog } from './session-log.ts';
import { cancelOnAbort, createStop, type StopReason } from './stop.ts';

export interface LiveSession extends Session<unknown>, ChildSession {
  /** Resolves once the session is this process's own and has begun; rejects where it cannot. */
  readonly ready: Promise<void>;
}

/** What a session is run with, loaded when the first one begins. */
export interface LiveParts {
  readonly beginSession: typeof beginSession;
  readonly runSession: typeof runSession;
}

/** A session that this process works on, from the moment it is asked for. */
export function createLiveSession(
  edges: RuntimeEdges,
  begin: Begin,
  parts: () => Promise<LiveParts>,
): LiveSession {
  const { store } = edges;
  const { id } = begin;
  const stop = createStop();
  const talk = createTalk();
  const rest = createRest();
  /** Those that came before the log was there. */
  let early: Set<(event: ObservedEvent) => void> | undefined;
  let log: SessionLog | undefined;
  let begun: () => void = () => undefined;
  let refused: (error: unknown) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => {
    begun = resolve;
    refused = reject;
  });
  ready.catch(() => undefined); // whoever waits for the result hears of it there
  const queue = createEventQueue(store, id, ready);

  const forgetSignal = cancelOnAbort(stop, choiceOf(begin).signal);
  const run = async (): Promise<SessionResult<unknown>> => {
    let writer: StreamWriter | undefined;
    let prepared: PreparedAgent | undefined;
    try {
      const { beginSession, runSession } = await parts();
      prepared = await edges.shelf.prepare(begin.agent, choiceOf(begin).model);
      const opened = await beginSession(edges, begin, stop, prepared, (made) => {
        writer = made.writer;
        log = made.log;
        edges.here.set(id, session);
        queue.attach(made.log);
        const waiting = early;
        if (waiting === undefined) return;
        for (const listener of waiting) log.subscribe((event) => waiting.has(listener) && listener(event));
      });
      begun();
      if (begin.kind === 'start' && begin.start.queued === true) return await leaveToOthers(opened.log);
      const chosen = begin.kind === 'start' ? begin.start.onWaiting : begin.resume.onWaiting;
      const onWaiting = chosen ?? edges.onWaiting ?? 'release';
      const group = begin.lineage?.group ?? id;
      const takeSlot = takeSlotFor(edges.slots, group);
      const enterOnce = () => edges.underWay.enter(group);
      const own = { onWaiting, stop, talk, rest, takeSlot, enterOnce };
      const ended = await runSession({ ...edges, ...opened, ...own });
      return begin.lineage === undefined ? readResult(begin.agent, ended) : ended;
    } catch (thrown) {
      refused(thrown);
      throw thrown;
    } finally {
      forgetSignal();
      try {
        await writer?.release(); // what was queued when it was let go is on the log after this
      } finally {
        queue.end(log?.committedSeq() ?? 0);
        if (prepared !== undefined) edges.shelf.release(prepared);
      }
    }
  };
  const end = (reason: StopReason) => {
    if (reason.kind === 'wait' && log?.state.status === 'running' && rest.reviews() !== undefined)
      log.append({ type: 'session.waiting', for: waitsFor(log.state, openReviews(log.state)) });
    if (reason.kind === 'interrupt' || reason.kind === 'wait') log?.seal();
    stop.now(reason);
  };
  const result = run();
  const leave = () => {
    if (edges.here.get(id) === session) edges.here.delete(id);
  };
  result.then(leave, leave); // a caller that only reads events is not ended by an error

  const session: LiveSession = {
    id,
    ready,
    result,
    rest,
    events: queue,
    subscribe(listener) {
      if (log !== undefined) return log.subscribe(listener);
      early ??= new Set();
      const waiting = early;
      waiting.add(listener);
      return () => waiting.delete(listener);
    },
    speech(told) {
      if (log === undefined) told(undefined, 0);
      else log.speech(told);
    },
    async steer(text) {
      await ready;
      await store.send(id, { kind: 'steer', from: 'user', body: text });
    },
    async say(text) {
      await ready;
      await store.send(id, { kind: 'message', from: 'user', body: text });
    },
    breakOff: talk.breakOff,
    finish: talk.finish,
    stop: end,
    async cancel(reason = 'asked to') {
      end({ kind: 'cancel', reason, by: 'user' });
      await result;
    },
    async interrupt() {
      end({ kind: 'interrupt' });
      await result.catch(() => undefined);
    },
  };
  return session;
}

/** It is on the log: who takes it up goes on with it. */
async function leaveToOthers(log: SessionLog): Promise<SessionResult> {
  await log.flushed();
  const { id, totals } = log.state;
  const usage = { input: totals.input, output: totals.output };
  return { session: id, status: 'interrupted', turns: totals.turns, usage, cost_usd: totals.cost_usd };
}

/** The session's result, as the agent's output schema gives it; on the log it is what the model wrote. */
const readResult = (agent: LoadedAgent<unknown>, result: SessionResult): SessionResult<unknown> =>
  result.result === undefined || agent.readResult === undefined
    ? result
    : { ...result, result: agent.readResult(result.result) };
