import type { Json, JsonObject } from '../lib/json.ts';
import type { EventOf } from '../log/event.ts';
import type { SessionState, StartedRun, Timer } from '../log/state.ts';

/** Workflows that may have set each other off, one after another. */
export const MAX_CHAIN = 8;

/** Firings of one trigger that may wait at a time, for their time or their turn. */
export const MAX_WAITING = 1_000;

/** The due time of what waits for its turn: the end of time, as dates have it. */
export const NEVER_DUE = 8_640_000_000_000_000;

/** What a trigger says of its pace. */
export interface Pacing {
  readonly isOnce: boolean;
  /** Whether a firing that waits is dropped when its condition no longer holds. */
  readonly dropsOnExit: boolean;
  readonly debounceMs: number;
  readonly cooldownMs: number;
  readonly delayMs: number;
  readonly concurrency?: { readonly max: number; readonly whenBusy: 'skip' | 'queue' | 'replace' };
}

export interface PacedTrigger {
  readonly id: string;
  readonly workflow: string;
  readonly pacing: Pacing;
}

/** A firing on its way. */
export interface PacingAttempt {
  /** How far it has come. */
  readonly stage: 'begun' | Stage;
  /** The workflows that led here, this one last. */
  readonly chain: readonly string[];
  /** Tells it from others that wait: the seq of what set it off. */
  readonly seq: number;
}

export interface PaceView {
  readonly now: number;
  readonly state: Pick<SessionState, 'runs' | 'timers' | 'triggers'>;
  /** The session is at its end: nothing waits any more. */
  readonly isEnding: boolean;
  /** Runs that are being cancelled. */
  readonly cancelled: ReadonlySet<string>;
  /** Whether what it fired for is still so. */
  holds(): boolean;
}

/** What a firing leads to. */
export type PacingPace =
  | { readonly kind: 'fire' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'wait'; readonly stage: Stage; readonly id: string; readonly due: number }
  | {
      readonly kind: 'suppress';
      readonly reason: EventOf<'trigger.suppressed'>['reason'];
      readonly message: string;
    }
  /** Cancel that run; the firing waits for its place. */
  | { readonly kind: 'replace'; readonly run: string | undefined; readonly id: string };

/** Debounce, then cooldown, then delay, then room among the runs; it goes on where `attempt.stage` left it. */
export function pace(trigger: PacedTrigger, attempt: PacingAttempt, view: PaceView): PacingPace {
  switch (attempt.stage) {
    case 'begun':
      return begin(trigger, attempt, view);
    case 'quiet':
      if (!view.holds()) return over(trigger);
      return cool(trigger, attempt, view);
    case 'later':
      return trigger.pacing.dropsOnExit && !view.holds() ? over(trigger) : room(trigger, attempt, view);
    case 'queued':
      return trigger.pacing.dropsOnExit && !view.holds() ? over(trigger) : { kind: 'fire' };
  }
}

/** Runs of the workflow that triggers of the session started and that have not ended, oldest first. */
export const runsOf = (state: Pick<SessionState, 'runs'>, workflow: string): readonly StartedRun[] =>
  state.runs.filter((run) => run.workflow === workflow);

/** Whether a run may start now. */
export const hasRoom = (trigger: PacedTrigger, state: Pick<SessionState, 'runs'>): boolean => {
  const { concurrency } = trigger.pacing;
  return concurrency === undefined || runsOf(state, trigger.workflow).length < concurrency.max;
};

function begin(trigger: PacedTrigger, attempt: PacingAttempt, view: PaceView): PacingPace {
  const { isOnce, debounceMs } = trigger.pacing;
  if (isOnce && isSpent(trigger, view)) return { kind: 'drop' };
  if (attempt.chain.length > MAX_CHAIN)
    return suppress(
      'depth',
      `More than ${MAX_CHAIN} workflows have set each other off: ${attempt.chain.join(' → ')}.`,
    );
  if (debounceMs === 0 || view.isEnding) return cool(trigger, attempt, view);
  return { kind: 'wait', stage: 'quiet', id: timerId(trigger.id), due: view.now + debounceMs };
}

/** It has fired, or is sure to. */
function isSpent(trigger: PacedTrigger, { state }: PaceView): boolean {
  const fired = state.triggers.find((each) => each.trigger === trigger.id);
  return (fired?.times ?? 0) > 0 || waitsOf(state.timers, trigger.id).some(({ stage }) => stage !== 'quiet');
}

function cool(trigger: PacedTrigger, attempt: PacingAttempt, view: PaceView): PacingPace {
  const { cooldownMs, delayMs } = trigger.pacing;
  const waitMs = view.isEnding ? 0 : delayMs;
  if (cooldownMs > 0) {
    const last = lastTime(trigger, view);
    if (last !== undefined && view.now + waitMs - last.at < cooldownMs)
      return suppress(
        'cooldown',
        `"${trigger.id}" ${describeLast(last, view.now)}; its cooldown is ${describeWait(cooldownMs)}.`,
      );
  }
  if (waitMs === 0) return room(trigger, attempt, view);
  if (waitsOf(view.state.timers, trigger.id).length >= MAX_WAITING) return full(trigger);
  return {
    kind: 'wait',
    stage: 'later',
    id: timerId(trigger.id, `later:${attempt.seq}`),
    due: view.now + waitMs,
  };
}

interface LastFiring {
  readonly at: number;
  readonly isQueued: boolean;
}

/**
 * When it fired last or is to fire; one that waits for its turn is sure to come, and counts from when it began to. What
 * has been and lies a whole cooldown ahead was before the clock was set back: it holds up nothing.
 */
function lastTime(trigger: PacedTrigger, { state, now }: PaceView): LastFiring | undefined {
  const fired = state.triggers.find((each) => each.trigger === trigger.id);
  const hasBeen = (at: number) => at - now < trigger.pacing.cooldownMs;
  const times = waitsOf(state.timers, trigger.id).flatMap(({ stage, timer, since }): LastFiring[] => {
    if (stage === 'later') return [{ at: timer.due, isQueued: false }];
    return since === undefined || !hasBeen(since) ? [] : [{ at: since, isQueued: true }];
  });
  if (fired !== undefined && fired.times > 0 && hasBeen(fired.at))
    times.push({ at: fired.at, isQueued: false });
  return times.sort((a, b) => b.at - a.at)[0];
}

function describeLast({ at, isQueued }: LastFiring, now: number): string {
  if (at > now) return `is to fire in ${describeWait(at - now)}`;
  return isQueued
    ? `has waited for its turn for ${describeWait(now - at)}`
    : `fired ${describeWait(now - at)} ago`;
}

function room(trigger: PacedTrigger, attempt: PacingAttempt, view: PaceView): PacingPace {
  const { concurrency } = trigger.pacing;
  if (concurrency === undefined || hasRoom(trigger, view.state)) return { kind: 'fire' };
  const runs = runsOf(view.state, trigger.workflow);
  const busy = `"${trigger.workflow}" has ${runs.length} ${runs.length === 1 ? 'run' : 'runs'} under way (${runs.map(({ run }) => run).join(', ')}), and the trigger allows ${concurrency.max}.`;
  if (view.isEnding)
    return suppress('busy', `${busy} The session is at its end, so it cannot wait for its turn.`);
  switch (concurrency.whenBusy) {
    case 'skip':
      return suppress('busy', busy);
    case 'queue':
      if (waitsOf(view.state.timers, trigger.id).length >= MAX_WAITING) return full(trigger);
      return {
        kind: 'wait',
        stage: 'queued',
        id: timerId(trigger.id, `queued:${attempt.seq}`),
        due: NEVER_DUE,
      };
    case 'replace':
      return { kind: 'replace', run: toReplace(trigger, view), id: timerId(trigger.id, 'next') };
  }
}

/** The oldest run that is not being cancelled already, unless enough are. */
export function toReplace(
  { workflow, pacing }: PacedTrigger,
  { state, cancelled }: Pick<PaceView, 'state' | 'cancelled'>,
): string | undefined {
  const left = runsOf(state, workflow).filter(({ run }) => !cancelled.has(run));
  return left.length < (pacing.concurrency?.max ?? Number.POSITIVE_INFINITY) ? undefined : left[0]?.run;
}

const over = ({ id }: PacedTrigger): PacingPace =>
  suppress('over', `When the time of "${id}" had come, what it fires for was over.`);

const full = ({ id }: PacedTrigger): PacingPace =>
  suppress('busy', `${MAX_WAITING} firings of "${id}" wait already.`);

const suppress = (reason: EventOf<'trigger.suppressed'>['reason'], message: string): PacingPace => ({
  kind: 'suppress',
  reason,
  message,
});

/**
 * What a firing waits for: `quiet` (debounce), `later` (delay) or its turn among the runs (`queued`). On the log it is a
 * timer; one that is queued has no time of its own and is fired when a run ends.
 */
export type Stage = 'quiet' | 'later' | 'queued';

const PREFIX = 'trigger:';

/** `trigger:WORKFLOW#0` is the one that waits for quiet; others have a word of their own behind. */
export const timerId = (trigger: string, which?: string): string =>
  which === undefined ? `${PREFIX}${trigger}` : `${PREFIX}${trigger}/${which}`;

/** A firing that waits, as its timer's data has it. */
export interface PacingWaiting {
  readonly timer: Timer;
  readonly trigger: string;
  readonly stage: Stage;
  readonly as: 'enter' | 'stay' | 'exit' | null;
  readonly seen: JsonObject;
  readonly chain: readonly string[];
  /** When it began to wait for its turn. */
  readonly since?: number;
}

export type WaitingData = Omit<PacingWaiting, 'timer'>;

export const waitingData = ({ trigger, stage, as, seen, chain, since }: WaitingData): Json => ({
  trigger,
  stage,
  as,
  seen,
  chain: [...chain],
  ...(since === undefined ? {} : { since }),
});

/** Undefined for a timer that is no trigger's. */
export function readWaiting(timer: Timer): PacingWaiting | undefined {
  if (!timer.id.startsWith(PREFIX) || typeof timer.data !== 'object' || timer.data === null) return undefined;
  return { timer, ...(timer.data as unknown as WaitingData) };
}

/** The firings of a trigger that wait, in the order in which they began to. */
export function waitsOf(timers: readonly Timer[], trigger: string): readonly PacingWaiting[] {
  const id = timerId(trigger);
  return timers.flatMap((timer) => {
    if (timer.id !== id && !timer.id.startsWith(`${id}/`)) return [];
    return readWaiting(timer) ?? [];
  });
}

/** `1.5 s`, `3 min`: for messages. */
function describeWait(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  return `${Math.round(ms / 60_000)} min`;
}
