import { dropGathered } from '../events/drop-gathered.ts';
import { usageOf } from '../events/usage-of.ts';
import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { withMethods } from '../kernel/with-methods.ts';
import type { beginSession } from './begin-session.ts';
import type { Begin } from './children/lineage.ts';
import { choiceOf } from './choice-of.ts';
import { hasEnded } from './ending/has-ended.ts';
import type { LoopOwner } from './loop.ts';
import type { endSession, takeUp, WorkEnd, workOn } from './run-session.ts';
import type { Seat } from './runtime-edges.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionDeps } from './session-edges.ts';
import type { Live } from './session-face.ts';
import type { SessionLog } from './session-log.ts';
import { cancelOnAbort } from './stop.ts';
import type { WiredSession, wireSession } from './wire-session.ts';

/** What a session is run with, loaded when the first one begins. */
export interface LiveParts {
  readonly beginSession: typeof beginSession;
  readonly wireSession: typeof wireSession;
  readonly takeUp: typeof takeUp;
  readonly workOn: typeof workOn;
  readonly endSession: typeof endSession;
}

/** What is to be done when a session is over. */
interface Ending {
  readonly live: Live;
  readonly forgetSignal: () => void;
  readonly seats: Set<Seat> | undefined;
  readonly resolve: (result: SessionResult<unknown>) => void;
  readonly reject: (thrown: unknown) => void;
}

/** A session at work. A record, as its loop is: a function that awaited its end would be half a kilobyte more. */
interface Run extends Ending, LoopOwner {
  ended(end: WorkEnd): void;
  readonly parts: LiveParts;
  readonly wired: WiredSession;
}

const METHODS = { ended, failed };

/** Works on a session that is `ready`, and gives its result once this process has let go of it. */
export const runLive = (
  live: Live,
  loading: Promise<LiveParts>,
  ready: Promise<SessionDeps>,
  seats: Ending['seats'],
): Promise<SessionResult<unknown>> =>
  new Promise((resolve, reject) => {
    const forgetSignal = cancelOnAbort(live.stop, choiceOf(live.begin).signal);
    void beginRun({ live, forgetSignal, seats, resolve, reject }, loading, ready); // it never rejects
  });

async function beginRun(
  ending: Ending,
  loading: Promise<LiveParts>,
  ready: Promise<SessionDeps>,
): Promise<void> {
  const { live, forgetSignal, seats, resolve, reject } = ending;
  const { begin } = live;
  try {
    const deps = await ready;
    const parts = await loading;
    if (begin.kind === 'start' && begin.start.queued === true) return over(ending, leaveToOthers(deps.log));
    const wired = await parts.wireSession(deps);
    const run = withMethods<Run, keyof typeof METHODS>(METHODS, {
      // A copy: docs/decisions/copies.md
      live,
      forgetSignal,
      seats,
      resolve,
      reject,
      parts,
      wired,
    });
    try {
      const taken = await parts.takeUp(wired);
      if (taken.kind === 'let_go') run.ended(taken);
      else parts.workOn(wired, taken.left, run);
    } catch (thrown) {
      run.failed(thrown);
    }
  } catch (thrown) {
    return over(ending, Promise.reject(thrown));
  }
}

function ended(this: Run, end: WorkEnd): void {
  void over(this, resultOf(this, end));
}

function failed(this: Run, thrown: unknown): void {
  this.ended({ kind: 'threw', thrown });
}

async function resultOf({ parts, wired }: Run, end: WorkEnd): Promise<SessionResult> {
  await undefined; // what came with the end of the work comes first
  const { result } = await parts.endSession(wired, end);
  // In one commit with the last event. Where that fails, so does the result, and it is tried again at the end.
  wired.works.deps.writer.release().catch(() => undefined);
  return result;
}

/** Lets go of the session, whatever came of it, and says what that is. */
async function over(ending: Ending, outcome: Promise<SessionResult>): Promise<void> {
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
      letGo(live);
      seats?.delete(live.seat);
      live.seat.session = undefined;
    }
    resolve(unreleased === undefined ? result : toldUnreleased(live, result, unreleased));
  } catch (thrown) {
    reject(thrown);
  }
}

/**
 * A full disk takes no letting go either; that is tried again by itself, and changes nothing of an end that is written.
 * Of a session that was interrupted, what was on its way may be lost, and is not counted.
 */
const toldUnreleased = (
  { log }: Live,
  result: SessionResult<unknown>,
  error: RuntimeError,
): SessionResult<unknown> =>
  result.status === 'interrupted' && result.error === undefined
    ? { ...result, error: error.toJSON(), turns: log?.committedTurns() ?? result.turns }
    : result;

function letGo(live: Live): void {
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
async function leaveToOthers(log: SessionLog): Promise<SessionResult> {
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
