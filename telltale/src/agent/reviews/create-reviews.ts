import type { Clock } from '../../lib/clock.ts';
import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { openReviews, reviewOf } from '../../log/reviews.ts';
import type { Review } from '../../log/state.ts';
import type { ActionScheduler } from '../../scheduler/action-scheduler.ts';
import type { ApprovalCall, PerformCall } from '../../scheduler/scheduler-deps.ts';
import type { Approve, Target } from '../../tools/target.ts';
import { type CalledAtRest, type Rest, waitsFor } from '../children/idle.ts';
import type { SessionLog } from '../session-log.ts';
import type { StartWait, Stop } from '../stop.ts';
import { type PermissionRequests, createPermissionRequests } from './ask-people.ts';
import { refusedBy } from './review-table.ts';

export interface WaitDetectorDeps {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly scheduler: Pick<ActionScheduler, 'isParked' | 'tracked'>;
  /** The agents that it calls. */
  readonly called: CalledAtRest;
  readonly rest: Rest;
  /** What becomes of a session with nothing to do but wait: one that was called leaves it to the one above it. */
  readonly atRest: 'release' | 'hold' | 'tell';
}

/** Notices that nothing is left to do in a session but to wait for people: then it says so, and is let go of. */
class WaitDetector {
  /** Questions to people, once there was one. */
  asking: PermissionRequests | undefined;
  /** Ends the wait in hand, where that is one that a message for the agent ends. */
  onMessage: (() => void) | undefined;
  /** Told of the wait in hand whenever a question, an action or what it calls has moved on. */
  watch: (() => void) | undefined;
  private readonly deps: WaitDetectorDeps;
  /** Whether the loop has nothing to do until an action ends. */
  private idle = false;
  private reportedIdle = false;

  constructor(deps: WaitDetectorDeps) {
    this.deps = deps;
    deps.rest.resting = this;
  }

  /** The reviews that it waits for, where there is nothing else to do. */
  waitsNow(): readonly Review[] | undefined {
    const { deps, asking, idle } = this;
    const { log, stop, called } = deps;
    // While a question is being worked out, or asked in this process, something will come of it.
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

  /** Something has changed: a question, an action, what it calls. Behind what is going on now: who waits for an action that has just ended is told first. */
  checkSoon(): void {
    queueMicrotask(() => this.look());
  }

  /** The same, where there may be something to wait for. */
  checkIfWaiting(): void {
    const { log, called } = this.deps;
    if (log.state.reviews.length > 0 || !called.isEmpty()) this.checkSoon();
  }

  /** A question was decided: whoever was told that there is nothing to do, or watches, hears that there is. */
  answered(): void {
    if (this.reportedIdle || this.watch !== undefined) this.checkSoon();
  }

  /** Whether there is a message for the agent, and nothing will move by itself before a person answers. */
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
   * Once all up to here is on the log, so that the one above has it, too. At rest it is told each time: it may have been
   * looked at by the one above while there was something to do.
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
  // One that is held for what it called would go on without a word on its log.
  const isSaid = atRest === 'release' || own.length === all.length;
  if (isSaid && state.status !== 'waiting')
    log.append({ type: 'session.waiting', for: waitsFor(state, own) });
  if (atRest !== 'release') return;
  log.seal(); // from here on the log belongs to whoever resumes it
  stop.now({ kind: 'wait', reviews: all });
}

function unwritten(): void {
  // a log that cannot be written ends the session
}

/** What a session asks people, and how it waits for them. */
export interface Reviews {
  /** For the scheduler: asks before an action starts, once, whatever happens to the process. */
  clear(call: ApprovalCall): Promise<RuntimeError | undefined> | undefined;
  /**
   * What a person approved for an action that is about to be called; undefined where nobody was asked. Rejects where
   * what would be called is something else: the scheduler then asks for leave again.
   */
  granted(call: Pick<PerformCall, 'action' | 'input'>): Promise<readonly string[]> | undefined;
  decide(...decision: Parameters<PermissionRequests['decide']>): boolean;
  /**
   * As `stop.until`, where nothing but actions, or a message, can end the wait. Once all of them wait for a person, the
   * log says so, and the session is let go of unless it is to be held.
   */
  until(start: StartWait): Promise<void> | undefined;
  /** As `until`. `moved` is called whenever a question, an action or what it calls has moved on. */
  untilMoved(start: StartWait, moved: () => void): Promise<void> | undefined;
  /** As `until`, but over also once it is spoken to. */
  untilMessage(start: StartWait): Promise<void> | undefined;
  /** Whether there is a message for the agent while all of its actions wait for people, who may take days. */
  hasUserMessage(): boolean;
  /** The same for an exchange of a chat, whose waits end with its own `stop`, too. */
  within(exchange: Stop): Reviews;
  /** An action has ended, what it calls may have come to rest, or there is a message for the agent. */
  moved(): void;
  /** Whether whoever resumes the session may go on with what waits in it: then it is not held for it. */
  readonly canResumeElsewhere: boolean;
  /** Closes reviews of a resumed session that nobody needs any more. */
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
  /** What ends its waits. */
  private readonly stop: Stop;

  constructor(deps: ReviewDeps, rest: WaitDetector, stop: Stop) {
    this.deps = deps;
    this.rest = rest;
    this.stop = stop;
    this.canResumeElsewhere = deps.atRest !== 'hold';
  }

  /** Most sessions ask nobody. */
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
