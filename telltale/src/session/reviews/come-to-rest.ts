import { openReviews } from '../../events/fold-reviews.ts';
import type { Review } from '../../events/state.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import { type CalledAtRest, type Rest, waitsFor } from '../children/rest.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';

export interface RestEdges {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly scheduler: () => Pick<Scheduler, 'atRest'>;
  /** The agents that it calls. */
  readonly called: CalledAtRest;
  readonly rest: Rest;
  /** What becomes of a session with nothing to do but wait: one that was called leaves it to the one above it. */
  readonly atRest: 'release' | 'hold' | 'tell';
  /** Whether a question is being worked out, or asked in this process: something will come of it. */
  readonly isBusy: () => boolean;
}

/** Notices that nothing is left to do in a session but to wait for people: then it says so, and is let go of. */
export interface ComingToRest {
  /** Whether the loop has nothing to do until an action ends. */
  setIdle(isIdle: boolean): void;
  /** Something has changed: a question, an action, what it calls. */
  lookSoon(): void;
  /** The same, where there may be something to wait for. */
  moved(): void;
  /** A question was decided: whoever was told that there is nothing to do hears that there is. */
  answered(): void;
  /** Whether there may be something to wait for. */
  mayWait(): boolean;
}

export function createComingToRest(edges: RestEdges): ComingToRest {
  const { log, stop, called, rest } = edges;
  const { state } = log;
  let idle = false;
  let toldRest = false;
  /** Answers whose action has not had the time to begin: until then it looks as if it waited on. */
  let fresh = 0;

  /** The reviews that it waits for, where there is nothing else to do. */
  const waitsNow = (): readonly Review[] | undefined => {
    if (!idle || fresh > 0 || stop.reason !== undefined || edges.isBusy()) return undefined;
    const open = openReviews(state);
    if (open.length === 0 && called.isEmpty()) return undefined;
    return edges.scheduler().atRest() ? [...open, ...called.reviews()] : undefined;
  };
  const settle = (own: readonly Review[], all: readonly Review[]) => {
    // One that is held for what it called would go on without a word on its log.
    const isSaid = edges.atRest === 'release' || own.length === all.length;
    if (isSaid && state.status !== 'waiting')
      log.append({ type: 'session.waiting', for: waitsFor(state, own) });
    if (edges.atRest !== 'release') return;
    log.seal(); // from here on the log belongs to whoever resumes it
    stop.now({ kind: 'wait', reviews: all });
  };
  /** Once all up to here is on the log, so that the one above has it, too. */
  const tellAbove = (isAtRest: boolean) => {
    if (isAtRest === toldRest) return;
    toldRest = isAtRest;
    if (isAtRest) log.flushed().then(rest.moved, unwritten);
    else rest.moved();
  };
  const look = () => {
    const all = waitsNow();
    if (all !== undefined) settle(openReviews(state), all);
    if (edges.atRest === 'tell') tellAbove(all !== undefined);
  };
  /** Behind what is going on now: who waits for an action that has just ended is told first. */
  const lookSoon = () => queueMicrotask(look);
  const mayWait = () => state.reviews.length > 0 || !called.isEmpty();

  rest.reviews = waitsNow;
  return {
    lookSoon,
    mayWait,
    setIdle(isIdle) {
      idle = isIdle;
      if (toldRest && !isIdle) lookSoon();
    },
    answered() {
      if (!toldRest) return;
      fresh += 1;
      look();
      setImmediate(() => {
        fresh -= 1;
        look();
      });
    },
    moved() {
      if (mayWait()) lookSoon();
    },
  };
}

function unwritten(): void {
  // a log that cannot be written ends the session
}
