import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { openReviews, reviewOf } from '../../log/reviews.ts';
import type { Review } from '../../log/state.ts';
import type { ActionScheduler } from '../../scheduler/action-scheduler.ts';
import type { ApprovalCall, PerformCall } from '../../scheduler/scheduler-deps.ts';
import type { Approve, Target } from '../../tools/target.ts';
import { type IdleCallees, type IdleStatus, waitsFor } from '../children/idle.ts';
import type { SessionLog } from '../session-log.ts';
import type { StartWait, Stop } from '../stop.ts';
import { createPermissionRequests, type PermissionRequests } from './ask-people.ts';
import { refusedBy } from './review-table.ts';

export interface WaitDetectorDeps {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly scheduler: Pick<ActionScheduler, 'isParked' | 'tracked'>;
  /** The agents that the session calls. */
  readonly called: IdleCallees;
  readonly rest: IdleStatus;
  /** What to do with a session that only waits: release it, hold it, or tell its caller, which decides. */
  readonly atRest: 'release' | 'hold' | 'tell';
}

/** Detects that a session only waits for people. It records that on the log and releases the session. */
class WaitDetector {
  /** Set with the first question. */
  asking: PermissionRequests | undefined;
  /** Ends the current wait when a message for the agent arrives. */
  onMessage: (() => void) | undefined;
  /** Called during the current wait whenever a question, an action or a called agent changes. */
  watch: (() => void) | undefined;
  private readonly deps: WaitDetectorDeps;
  /** Whether the agent loop has nothing to do until an action ends. */
  private idle = false;
  private reportedIdle = false;

  constructor(deps: WaitDetectorDeps) {
    this.deps = deps;
    deps.rest.resting = this;
  }

  /** The reviews that the session waits for. Undefined if it has something else to do. */
  waitsNow(): readonly Review[] | undefined {
    const { deps, asking, idle } = this;
    const { log, stop, called } = deps;
    // A question that is being prepared or asked in this process will be answered.
    if (!idle || stop.reason !== undefined || asking?.isBusy() === true) return undefined;
    if (this.onMessage !== undefined && this.hasMessage()) return undefined;
    const open = openReviews(log.state);
    if (open.length === 0 && called.isEmpty()) return undefined;
    const speaker = called.speaker();
    const isAtRest =
      speaker === undefined
        ? deps.scheduler.isParked()
        : speaker.rest.reviews() !== undefined &&
          (deps.scheduler.isParked() || deps.scheduler.tracked().length === 0);
    return isAtRest ? [...open, ...called.reviews()] : undefined;
  }

  setIdle(isIdle: boolean): void {
    this.idle = isIdle;
    if (this.reportedIdle && !isIdle) this.checkSoon();
  }

  /**
   * Checks after a change of a question, an action or a called agent. The check runs in a microtask, so that
   * callbacks of an action that has just ended run first.
   */
  checkSoon(): void {
    queueMicrotask(() => this.look());
  }

  /** Checks if there may be something to wait for. */
  checkIfWaiting(): void {
    const { log, called } = this.deps;
    if (log.state.reviews.length > 0 || !called.isEmpty()) this.checkSoon();
  }

  /** Call it when a question was decided. */
  answered(): void {
    if (this.reportedIdle || this.watch !== undefined) this.checkSoon();
  }

  /** Whether there is a message for the agent while everything else waits for a person. */
  hasMessage(): boolean {
    const { log, scheduler } = this.deps;
    return log.state.news.messages.length > 0 && scheduler.isParked();
  }

  private look(): void {
    const { deps } = this;
    this.watch?.();
    if (this.onMessage !== undefined && this.hasMessage()) this.onMessage();
    const all = this.waitsNow();
    if (all !== undefined) settle(deps, openReviews(deps.log.state), all);
    if (deps.atRest === 'tell') this.reportToParent(all !== undefined);
  }

  /**
   * Tells the caller after everything so far is on the log. While idle, it tells the caller each time,
   * because the caller may have checked while there was something to do.
   */
  private reportToParent(isAtRest: boolean): void {
    const { log, rest } = this.deps;
    if (!isAtRest && !this.reportedIdle) return;
    this.reportedIdle = isAtRest;
    if (isAtRest) log.flushed().then(() => rest.moved(), unwritten);
    else rest.moved();
  }
}

function settle(
  { log, stop, atRest }: WaitDetectorDeps,
  own: readonly Review[],
  all: readonly Review[],
): void {
  const { state } = log;
  // A session that is held for a called agent would continue without a log entry.
  const isSaid = atRest === 'release' || own.length === all.length;
  if (isSaid && state.status !== 'waiting')
    log.append({ type: 'session.waiting', for: waitsFor(state, own) });
  if (atRest !== 'release') return;
  log.seal(); // the next owner of the session continues the log
  stop.now({ kind: 'wait', reviews: all });
}

function unwritten(): void {
  // a session whose log cannot be written ends
}

/** The questions of a session to people, and how it waits for answers. */
export interface Reviews {
  /** For the scheduler: asks before an action starts, once, even if the process crashes. */
  clear(call: ApprovalCall): Promise<RuntimeError | undefined> | undefined;
  /**
   * Resolves with the grants of an approved action. Undefined if nobody was asked. Rejects if the call has
   * changed, and the scheduler then asks again.
   */
  granted(call: Pick<PerformCall, 'action' | 'input'>): Promise<readonly string[]> | undefined;
  decide(...decision: Parameters<PermissionRequests['decide']>): boolean;
  /**
   * Like `stop.until`, for waits that only actions or messages can end. Once all actions wait for people, the
   * log records that, and the session is released unless it is held.
   */
  until(start: StartWait): Promise<void> | undefined;
  /** Like `until`. `moved` is called whenever a question, an action or a called agent changes. */
  untilMoved(start: StartWait, moved: () => void): Promise<void> | undefined;
  /** Like `until`, but a message for the agent also ends it. */
  untilMessage(start: StartWait): Promise<void> | undefined;
  /** Whether there is a message for the agent while all of its actions wait for people. */
  hasUserMessage(): boolean;
  /** The same for one exchange of a chat, which has its own `stop`. */
  within(exchange: Stop): Reviews;
  /** Call it when an action has ended, a called agent may be idle, or a message for the agent has arrived. */
  moved(): void;
  /** Whether another process may resume the session, so that it need not be held. */
  readonly canResumeElsewhere: boolean;
  /** Closes reviews of a resumed session that are no longer needed. */
  tidy(): void;
}

export interface ReviewDeps extends WaitDetectorDeps {
  readonly clock: Clock;
  traits(action: ApprovalCall['action']): Target | undefined;
  view(): JsonObject;
  readonly approve?: Approve | undefined;
}

export const createReviews = (deps: ReviewDeps): Reviews =>
  new SessionReviews(deps, new WaitDetector(deps), deps.stop);

class SessionReviews implements Reviews {
  readonly canResumeElsewhere: boolean;
  private readonly deps: ReviewDeps;
  private readonly rest: WaitDetector;
  /** Ends its waits. */
  private readonly stop: Stop;

  constructor(deps: ReviewDeps, rest: WaitDetector, stop: Stop) {
    this.deps = deps;
    this.rest = rest;
    this.stop = stop;
    this.canResumeElsewhere = deps.atRest !== 'hold';
  }

  /** Created on demand, because most sessions ask nobody. */
  private asking(): PermissionRequests {
    const { deps, rest } = this;
    const { log, clock, approve } = deps;
    const agent = () => deps.view();
    rest.asking ??= createPermissionRequests({ log, clock, agent, approve, changed: () => rest.checkSoon() });
    return rest.asking;
  }

  moved(): void {
    this.rest.checkIfWaiting();
  }

  clear(call: ApprovalCall): Promise<RuntimeError | undefined> | undefined {
    const { deps } = this;
    const known = reviewOf(deps.log.state, call.action.id);
    if (known?.answer === 'rejected') return Promise.resolve(refusedBy(known));
    const target = deps.traits(call.action);
    if (target === undefined) return undefined;
    if (known !== undefined) return this.asking().askAgain(known, { ...call, target });
    try {
      const need = target.needs?.(call.input, { agent: () => deps.view() });
      return need === undefined ? undefined : this.asking().ask({ ...call, target }, need);
    } catch (thrown) {
      return Promise.resolve(toRuntimeError(thrown));
    }
  }

  granted({ action, input }: Pick<PerformCall, 'action' | 'input'>): Promise<readonly string[]> | undefined {
    const { deps } = this;
    const { state } = deps.log;
    if (state.reviews.length === 0) return undefined;
    const review = reviewOf(state, action.id);
    const target = review?.answer === 'approved' ? deps.traits(action) : undefined;
    return review === undefined || target === undefined
      ? undefined
      : this.asking().confirm(review, { action, input, target });
  }

  decide(...decision: Parameters<PermissionRequests['decide']>): boolean {
    const ends = this.deps.stop.reason?.kind;
    if (ends === 'cancel' || ends === 'fail') return false;
    const isDecided = this.asking().decide(...decision);
    this.rest.answered();
    return isDecided;
  }

  until(start: StartWait): Promise<void> | undefined {
    const { rest, stop } = this;
    const waits = stop.until((done) => {
      rest.setIdle(true);
      const after = start(done);
      return () => {
        rest.setIdle(false);
        after?.();
      };
    });
    if (waits !== undefined) rest.checkIfWaiting();
    return waits;
  }

  untilMoved(start: StartWait, changed: () => void): Promise<void> | undefined {
    const { rest } = this;
    return this.until((done) => {
      const after = start(done);
      rest.watch = changed;
      return () => {
        rest.watch = undefined;
        after?.();
      };
    });
  }

  untilMessage(start: StartWait): Promise<void> | undefined {
    const { rest } = this;
    return this.until((done) => {
      const after = start(done);
      rest.onMessage = done;
      return () => {
        rest.onMessage = undefined;
        after?.();
      };
    });
  }

  hasUserMessage(): boolean {
    return this.rest.hasMessage();
  }

  within(exchange: Stop): Reviews {
    return new SessionReviews(this.deps, this.rest, exchange);
  }

  tidy(): void {
    const { deps } = this;
    const { state } = deps.log;
    for (const { review, action } of openReviews(state)) {
      const known = state.actions.get(action);
      const needs = known === undefined ? undefined : deps.traits(known.action)?.needs;
      if (needs === undefined) this.asking().decide(review, { answer: 'withdrawn', by: 'runtime' });
    }
  }
}
