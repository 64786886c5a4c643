import { type Condition, matches } from '../../expressions/maps/conditions.ts';
import { parseConditions } from '../../expressions/maps/parse-conditions.ts';
import { deepEqual } from '../../expressions/values.ts';
import { beginsWithADay } from '../../lib/dates.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { createIdSource } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { parseDuration } from '../../lib/quantity.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { ReviewAnswer } from '../../log/review-event.ts';
import type { ApprovalRequest } from '../../log/run-event.ts';
import type { ApprovalState, RunState } from '../../log/run-state.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { abortError } from '../../tools/abort.ts';
import { changesSince } from '../../tools/access/approval-need.ts';
import { allSteps, type Stepped } from '../machine/composite.ts';
import type { PreparedStep, StepAttempt, StepInstance } from '../step-executor.ts';
import type { PrepareStep, ReviewEnd, StepContext, StepDeps } from './step-deps.ts';
import { resolveInStep, resolveMap, stepWhat } from './step-deps.ts';

/** The answer to a question. `due`: nobody answered in time. */
export interface PersonAnswer {
  readonly answer: ReviewAnswer | 'due';
  readonly choice: string;
  readonly by: string;
  readonly note?: string;
}

/** The author of a decision if nobody answered in time. */
export const TIMEOUT = 'timeout';

/** A question to a person. */
export type PersonQuestion = Omit<ApprovalRequest, 'review' | 'step'>;

/**
 * Asks people a question, or finds it on the log after a restart, and waits for the answer. The question is
 * withdrawn if the step is stopped, but not if this process only releases the run.
 */
export async function askPerson(
  question: PersonQuestion,
  call: StepAttempt,
  deps: StepDeps,
): Promise<PersonAnswer> {
  const { journal, clock, reviews } = deps;
  const { address: step } = call;
  const own = journal.state.reviews.filter((review) => review.step === step);
  const last = own.findLast((review) => isSame(review, question));
  const word = last === undefined ? undefined : wordOfThisTry(last, journal.state);
  if (word !== undefined) return word;
  // A step asks one question at a time. Another open one is about something that has changed.
  for (const { review, answer } of own)
    if (answer === undefined && review !== last?.review)
      reviews.close(review, withdrawn('It is asked anew, about something else.'));
  const open = last?.answer === undefined ? last : undefined;
  const asked: ApprovalRequest = open ?? { ...question, review: createIdSource({ clock }).next('rev'), step };
  if (open === undefined) reviews.open(asked, call.cause);
  const { review, due } = asked;
  const look = () => {
    const found = journal.state.reviews.find((each) => each.review === review);
    return found === undefined ? undefined : wordOf(found);
  };
  const over = new AbortController();
  reviews.ask?.(asked, over.signal);
  try {
    const waited = await waitFor({ waitsFor: `review ${review}`, due, look }, call, deps);
    return waited === DUE ? { answer: 'due', choice: '', by: TIMEOUT } : waited;
  } catch (thrown) {
    if (!deps.isReleased()) reviews.close(review, withdrawn(toRuntimeError(thrown).message));
    throw thrown;
  } finally {
    over.abort();
  }
}

const withdrawn = (note: string): ReviewEnd => ({
  answer: 'withdrawn',
  choice: 'withdrawn',
  by: 'runtime',
  note,
});

/** Whether two questions are the same: what the person was shown, and the possible answers. */
const isSame = (
  asked: PersonQuestion & Pick<ApprovalState, 'voided'>,
  { kind, nth, prompt, options, call }: PersonQuestion,
): boolean =>
  asked.voided === undefined &&
  asked.kind === kind &&
  asked.nth === nth &&
  asked.prompt === prompt &&
  deepEqual([...asked.options], [...options]) &&
  (call === undefined || asked.call === undefined
    ? call === asked.call
    : changesSince(asked.call, call).length === 0);

/** An answer that arrived while nobody worked on the run. Answers to earlier attempts do not count. */
function wordOfThisTry(last: ApprovalState, { steps }: RunState): PersonAnswer | undefined {
  const began = steps.get(last.step)?.cause.seq ?? 0;
  if (last.seq < began) return undefined;
  // A withdrawal by the runtime is not an answer, so the question is asked again.
  return last.answer === 'withdrawn' && last.by !== TIMEOUT ? undefined : wordOf(last);
}

/** Undefined if nobody has answered yet. */
function wordOf({ answer, choice = '', by = '', note }: ApprovalState): PersonAnswer | undefined {
  if (answer === undefined) return undefined;
  const isLate = answer === 'withdrawn' && by === TIMEOUT;
  return { answer: isLate ? 'due' : answer, choice, by, ...(note === undefined ? {} : { note }) };
}

/**
 * Waits for a duration, a point in time or an event. Durable: the log says what it waits for, and no process
 * is needed.
 */
export const prepareWait: PrepareStep<'wait'> = async (step, place, context) => {
  if ('event' in step) return prepareEventWait(step, place, context);
  if ('until' in step) {
    const until = momentOf(await resolveInStep(step.until, place, context), stepWhat(place));
    return timed({ until: new Date(until).toISOString() }, () => until, context);
  }
  const written = typeof step.for === 'string' ? await resolveInStep(step.for, place, context) : step.for;
  const ms = durationOf(written, stepWhat(place));
  const startedAt = () => context.journal.state.steps.get(place.address)?.startedAt ?? context.clock.now();
  return timed({ for_ms: ms }, () => startedAt() + ms, context);
};

function timed(input: PreparedStep['input'], dueOf: () => number, context: StepContext): PreparedStep {
  return {
    input,
    repeatable: true, // the due time is on the log
    async run(call) {
      const { journal } = context;
      const { address: id, cause } = call;
      const timer = journal.state.timers.get(id);
      const due = timer?.due ?? dueOf();
      if (timer === undefined) journal.append({ type: 'timer.set', id, due }, cause);
      if (timer?.fired !== true) {
        await waitFor({ waitsFor: `timer ${id}`, due, look: () => undefined }, call, context);
        journal.append({ type: 'timer.fired', id }, cause);
      }
      return { until: new Date(due).toISOString() };
    },
  };
}

/** A duration from a reference. A plain number is seconds, as in a manifest. */
function durationOf(written: Json | { readonly ms: number }, what: string): number {
  if (typeof written === 'object' && written !== null && 'ms' in written && typeof written.ms === 'number')
    return written.ms;
  if (typeof written !== 'string' && typeof written !== 'number') throw noDuration(what, written as Json);
  const parsed = parseDuration(written);
  if (!parsed.ok) throw noDuration(what, written);
  return parsed.value;
}

const DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A time without a zone is UTC, on every machine. */
function momentOf(written: Json, what: string): number {
  const [text, zone] = typeof written === 'string' ? (DATE.exec(written.trim()) ?? []) : [];
  const at =
    text === undefined || !beginsWithADay(text)
      ? Number.NaN
      : Date.parse(zone === undefined && text.includes('T') ? `${text}Z` : text);
  if (Number.isNaN(at)) throw noMoment(what, written);
  return at;
}

const noDuration = (what: string, found: Json) =>
  new RuntimeError('bad_parameters', `"for" of ${what} is ${showValue(found)}, which is no duration.`, {
    hint: 'Refer to a text like "30s" or "1h30m", or to a number of seconds.',
  });

const noMoment = (what: string, found: Json) =>
  new RuntimeError('bad_parameters', `"until" of ${what} is ${showValue(found)}, which is no time.`, {
    hint: 'Refer to a text like 2026-11-15T08:30:00Z.',
  });

type Signal = RunState['signals'][number];

/**
 * Waits for an event. An earlier event counts if no other wait has taken it. The output is `{event, data,
 * seq}`: the event and its position on the run's log.
 */
async function prepareEventWait(
  step: EventWait,
  place: StepInstance,
  context: StepContext,
): Promise<PreparedStep> {
  const { event } = step;
  const match = step.match === undefined ? undefined : await resolveMap(step.match, 'match', place, context);
  const condition = match === undefined ? undefined : conditionOf(match, stepWhat(place));
  const names = new Set([...eventWaits(context.workflow).values()].map((wait) => wait.event));
  return {
    input: { event, ...(match === undefined ? {} : { match }) },
    repeatable: true, // the event is on the log
    async run(call) {
      const { journal, taken } = context;
      // Taken at once, because several waits see the same signal.
      const look = () => {
        const found = journal.state.signals.find((signal) => !taken.has(signal.seq) && fits(signal));
        if (found === undefined) return undefined;
        taken.add(found.seq);
        // A wait that is stopped before its end is on the log gives the signal back.
        call.signal.addEventListener('abort', () => taken.delete(found.seq), { once: true });
        return found;
      };
      const fits = (signal: Signal) => {
        const seen = fieldsOf(signal, event, names);
        return seen !== undefined && (condition === undefined || matches(condition, { current: seen }));
      };
      const { event: came, data, seq } = await waitFor({ waitsFor: `event ${event}`, look }, call, context);
      return { event: came, data, seq };
    },
  };
}

/** For a wait for `custom`, a signal with another name counts like an `emit` with that name. */
function fieldsOf(
  { event, data }: Signal,
  wanted: string,
  names: ReadonlySet<string>,
): JsonObject | undefined {
  if (event === wanted) return data;
  return wanted === 'custom' && !names.has(event) ? { name: event, data } : undefined;
}

function conditionOf(match: JsonObject, what: string): Condition {
  const parsed = parseConditions(match);
  if (parsed.ok) return parsed.value;
  const [issue] = parsed.error;
  throw new RuntimeError('bad_parameters', `"match" of ${what} cannot be read: ${issue?.message ?? ''}`, {
    hint: issue?.hint,
  });
}

interface WaitOptions<Found> {
  /** What the log and the views show as the reason: `event custom`. */
  readonly waitsFor: string;
  /** Returns the result as soon as the run's state has it. */
  readonly look: () => Found | undefined;
}

/** The longest timer. A change of the system clock is noticed after this time at the latest. */
const LONGEST_SLEEP_MS = 5_000;

/** The time is up without a result. */
const DUE: unique symbol = Symbol('due');

/**
 * Waits until the run's state has a result, or for a time, and suspends the step meanwhile. If the run is
 * released, the wait starts again from the log. Rejects when the step is stopped.
 */
function waitFor<Found>(
  wait: WaitOptions<Found> & { readonly due?: never },
  call: StepAttempt,
  deps: Pick<StepDeps, 'journal' | 'clock'>,
): Promise<Found>;
function waitFor<Found>(
  wait: WaitOptions<Found> & { readonly due: number | undefined },
  call: StepAttempt,
  deps: Pick<StepDeps, 'journal' | 'clock'>,
): Promise<Found | typeof DUE>;
function waitFor<Found>(
  { waitsFor, due, look }: WaitOptions<Found> & { readonly due?: number | undefined },
  call: StepAttempt,
  { journal, clock }: Pick<StepDeps, 'journal' | 'clock'>,
): Promise<Found | typeof DUE> {
  const { signal } = call;
  if (signal.aborted) return Promise.reject(abortError(stepWhat(call), signal));
  const there = look();
  if (there !== undefined) return Promise.resolve(there);
  if (due !== undefined && due <= clock.now()) return Promise.resolve(DUE);
  return new Promise((resolve, reject) => {
    const resume = call.suspend(waitsFor, due);
    const end = () => {
      forget();
      disarm();
      signal.removeEventListener('abort', onAbort);
      resume();
    };
    const onAbort = () => {
      end();
      reject(abortError(stepWhat(call), signal));
    };
    const forget = journal.subscribe(() => {
      const found = look();
      if (found === undefined) return;
      end();
      resolve(found);
    });
    // The system clock may have been set back, so check the time again.
    const arm = (at: number): (() => void) =>
      clock.after(Math.min(at - clock.now(), LONGEST_SLEEP_MS), () => {
        if (clock.now() < at) {
          disarm = arm(at);
          return;
        }
        end();
        resolve(DUE);
      });
    let disarm = due === undefined ? () => {} : arm(due);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** A step that waits for an event. */
export type EventWait = Extract<Step, { readonly type: 'wait'; readonly event: string }>;

const isEventWait = (step: Step): step is EventWait => step.type === 'wait' && 'event' in step;

/** The `wait` steps for events, by name. */
const eventWaits = (workflow: Stepped): ReadonlyMap<string, EventWait> =>
  new Map(
    allSteps(workflow)
      .filter(isEventWait)
      .map((step) => [step.name, step]),
  );

/** The log positions of signals that `wait` steps of this run have taken. */
export function signalsTaken(workflow: Stepped, { steps }: Pick<RunState, 'steps'>): Set<number> {
  if (steps.size === 0) return new Set();
  const waits = eventWaits(workflow);
  if (waits.size === 0) return new Set();
  return new Set(
    [...steps.values()].flatMap(({ step, output }) =>
      waits.has(stepName(step)) && isMap(output) && typeof output.seq === 'number' ? [output.seq] : [],
    ),
  );
}
