import { openReviews, reviewOf } from '../../events/fold-reviews.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { withMethods } from '../../kernel/with-methods.ts';
import type { ClearCall, PerformCall } from '../../scheduler/edges.ts';
import type { Approve, Target } from '../../targets/target.ts';
import type { StartWait, Stop } from '../stop.ts';
import { createAsking } from './ask-people.ts';
import type { Asking } from './asking.ts';
import {
  answered,
  type ComingToRest,
  createComingToRest,
  hasWord,
  lookIfWaiting,
  lookSoon,
  type RestDeps,
  setIdle,
} from './come-to-rest.ts';
import { refusedBy } from './review-errors.ts';

/** What a session asks people, and how it waits for them. */
export interface Reviews {
  /** For the scheduler: asks before an action starts, once, whatever happens to the process. */
  clear(call: ClearCall): Promise<RuntimeError | undefined> | undefined;
  /**
   * What a person approved for an action that is about to be called; undefined where nobody was asked. Rejects where
   * what would be called is something else: the scheduler then asks for leave again.
   */
  granted(call: Pick<PerformCall, 'action' | 'input'>): Promise<readonly string[]> | undefined;
  decide(...decision: Parameters<Asking['decide']>): boolean;
  /**
   * As `stop.until`, where nothing but actions, or a message, can end the wait. Once all of them wait for a person, the
   * log says so, and the session is let go of unless it is to be held.
   */
  until(start: StartWait): Promise<void> | undefined;
  /** As `until`. `moved` is called whenever a question, an action or what it calls has moved on. */
  untilMoved(start: StartWait, moved: () => void): Promise<void> | undefined;
  /** As `until`, but over also once it is spoken to. */
  untilSpokenTo(start: StartWait): Promise<void> | undefined;
  /** Whether there is a message for the agent while all of its actions wait for people, who may take days. */
  isSpokenTo(): boolean;
  /** The same for an exchange of a chat, whose waits end with its own `stop`, too. */
  within(exchange: Stop): Reviews;
  /** An action has ended, what it calls may have come to rest, or there is a message for the agent. */
  moved(): void;
  /** Whether whoever resumes the session may go on with what waits in it: then it is not held for it. */
  readonly goesOnElsewhere: boolean;
  /** Closes reviews of a resumed session that nobody needs any more. */
  tidy(): void;
}

export interface ReviewDeps extends RestDeps {
  readonly clock: Clock;
  traits(action: ClearCall['action']): Target | undefined;
  view(): JsonObject;
  readonly approve?: Approve | undefined;
}

interface OwnReviews extends Reviews {
  readonly deps: ReviewDeps;
  readonly rest: ComingToRest;
  /** What ends its waits. */
  readonly stop: Stop;
}

export const createReviews = (deps: ReviewDeps): Reviews =>
  reviewsUntil(deps, createComingToRest(deps), deps.stop);

const METHODS = {
  clear,
  granted,
  decide,
  until,
  untilMoved,
  untilSpokenTo,
  isSpokenTo,
  within,
  moved,
  tidy,
};

const reviewsUntil = (deps: ReviewDeps, rest: ComingToRest, stop: Stop): OwnReviews =>
  withMethods<OwnReviews, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    deps,
    rest,
    stop,
    goesOnElsewhere: deps.atRest !== 'hold',
  });

/** Most sessions ask nobody. */
function askingOf({ deps, rest }: OwnReviews): Asking {
  const { log, clock, approve } = deps;
  const agent = () => deps.view();
  rest.asking ??= createAsking({ log, clock, agent, approve, changed: () => lookSoon(rest) });
  return rest.asking;
}

function moved(this: OwnReviews): void {
  lookIfWaiting(this.rest);
}

function clear(this: OwnReviews, call: ClearCall): Promise<RuntimeError | undefined> | undefined {
  const { deps } = this;
  const known = reviewOf(deps.log.state, call.action.id);
  if (known?.answer === 'rejected') return Promise.resolve(refusedBy(known));
  const target = deps.traits(call.action);
  if (target === undefined) return undefined;
  if (known !== undefined) return askingOf(this).askAgain(known, { ...call, target });
  try {
    const need = target.needs?.(call.input, { agent: () => deps.view() });
    return need === undefined ? undefined : askingOf(this).ask({ ...call, target }, need);
  } catch (thrown) {
    return Promise.resolve(toRuntimeError(thrown));
  }
}

function granted(
  this: OwnReviews,
  { action, input }: Pick<PerformCall, 'action' | 'input'>,
): Promise<readonly string[]> | undefined {
  const { deps } = this;
  const { state } = deps.log;
  if (state.reviews.length === 0) return undefined;
  const review = reviewOf(state, action.id);
  const target = review?.answer === 'approved' ? deps.traits(action) : undefined;
  return review === undefined || target === undefined
    ? undefined
    : askingOf(this).confirm(review, { action, input, target });
}

function decide(this: OwnReviews, ...decision: Parameters<Asking['decide']>): boolean {
  const ends = this.deps.stop.reason?.kind;
  if (ends === 'cancel' || ends === 'fail') return false;
  const isDecided = askingOf(this).decide(...decision);
  answered(this.rest);
  return isDecided;
}

function until(this: OwnReviews, start: StartWait): Promise<void> | undefined {
  const { rest, stop } = this;
  const waits = stop.until((done) => {
    setIdle(rest, true);
    const after = start(done);
    return () => {
      setIdle(rest, false);
      after?.();
    };
  });
  if (waits !== undefined) lookIfWaiting(rest);
  return waits;
}

function untilMoved(this: OwnReviews, start: StartWait, changed: () => void): Promise<void> | undefined {
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

function untilSpokenTo(this: OwnReviews, start: StartWait): Promise<void> | undefined {
  const { rest } = this;
  return this.until((done) => {
    const after = start(done);
    rest.spokenTo = done;
    return () => {
      rest.spokenTo = undefined;
      after?.();
    };
  });
}

function isSpokenTo(this: OwnReviews): boolean {
  return hasWord(this.rest);
}

function within(this: OwnReviews, exchange: Stop): Reviews {
  return reviewsUntil(this.deps, this.rest, exchange);
}

function tidy(this: OwnReviews): void {
  const { deps } = this;
  const { state } = deps.log;
  for (const { review, action } of openReviews(state)) {
    const known = state.actions.get(action);
    const needs = known === undefined ? undefined : deps.traits(known.action)?.needs;
    if (needs === undefined) askingOf(this).decide(review, { answer: 'withdrawn', by: 'runtime' });
  }
}
