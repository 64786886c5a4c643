import type { Clock } from '../../lib/clock.ts';
import type { IdSource } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Cause, EventBody, SessionEvent } from '../../log/event.ts';
import { WORKFLOW_WRITER } from '../../log/fold-values.ts';
import type { SessionState, StartedRun } from '../../log/state.ts';
import type { CompiledTriggers, SessionTrigger } from '../../triggers/compile-triggers.ts';
import {
  hasRoom,
  NEVER_DUE,
  type PacingPace,
  type PacingWaiting,
  pace,
  readWaiting,
  runsOf,
  type Stage,
  toReplace,
  waitingData,
  waitsOf,
} from '../../triggers/pacing.ts';
import type { SessionLog } from '../session-log.ts';

/** A firing of a trigger: what caused it, and its stage. */
export interface TriggerFiring {
  readonly trigger: SessionTrigger;
  readonly stage: 'begun' | Stage;
  readonly as: PacingWaiting['as'];
  readonly seen: JsonObject;
  /** The chain of workflows that led here, this one last. */
  readonly chain: readonly string[];
  readonly cause: Cause;
  /**
   * Whether it was caused by a suppressed firing. Then a chain that is too long ends without another event.
   */
  readonly isEcho: boolean;
}

/** Executes firings: they wait, start a run, or are suppressed with a reason. */
export interface Firings {
  attempt(attempt: TriggerFiring): void;
  /** A run has ended, so a queued firing may start. */
  ended(run: string, workflow: string): void;
  /** Cancels the runs and waiting firings of a trigger whose condition no longer holds. */
  cancelRuns(trigger: SessionTrigger): void;
  /** After an update: the same for triggers on a change whose value has changed again. */
  cancelLeft(): void;
  suppress(
    trigger: SessionTrigger,
    reason: Suppressed['reason'],
    message: string,
    origin: Pick<TriggerFiring, 'cause' | 'chain'>,
  ): void;
  /** Continues open runs and waits after a restart. */
  begin(): void;
  /** Ends all waits, because the session is about to end. */
  end(): void;
  close(): void;
}

type Suppressed = Extract<EventBody, { readonly type: 'trigger.suppressed' }>;

export interface FiringDeps {
  readonly triggers: CompiledTriggers;
  readonly log: Pick<SessionLog, 'state' | 'append'>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly chains: Chains;
  readonly holds: (trigger: SessionTrigger) => boolean;
  readonly startRun: (run: StartedRun) => void;
  readonly cancelRun: (run: string, reason: string) => void;
}

export function createFirings(deps: FiringDeps): Firings {
  const { triggers, log, clock, ids, chains, holds } = deps;
  const { state } = log;
  const cancelled = new Set<string>();
  let isEnding = false;

  /** Events of a firing belong to its chain, so that a trigger on them cannot loop forever. */
  const append = (body: EventBody, { cause, chain }: Pick<TriggerFiring, 'cause' | 'chain'>): Cause => {
    chains.note(state.seq + 1, chain);
    return log.append(body, cause);
  };
  const isOver = () => isEnding || (state.status !== 'running' && state.status !== 'waiting');

  const decide = (attempt: TriggerFiring) => {
    const { trigger, stage, chain, as } = attempt;
    const view = {
      now: clock.now(),
      state,
      isEnding: isOver(),
      cancelled,
      holds: () => (as === null ? true : holds(trigger) === (as !== 'exit')),
    };
    carryOut(attempt, pace(trigger, { stage, chain, seq: state.seq }, view));
  };

  const carryOut = (attempt: TriggerFiring, step: PacingPace) => {
    switch (step.kind) {
      case 'drop':
        return;
      case 'fire':
        fire(attempt);
        return;
      case 'suppress':
        if (step.reason === 'depth' && attempt.isEcho) return;
        suppress(attempt, step.reason, step.message);
        return;
      case 'wait':
        wait(attempt, step.stage, step.id, step.due);
        return;
      case 'replace':
        if (state.timers.some(({ id }) => id === step.id))
          suppress(attempt, 'busy', 'A newer firing took the place of one that waited for its turn.');
        wait(attempt, 'queued', step.id, NEVER_DUE);
        if (step.run !== undefined)
          cancel(step.run, `A newer firing of "${attempt.trigger.id}" takes its place.`);
        return;
    }
  };

  const fire = (attempt: TriggerFiring) => {
    const { trigger, seen, chain } = attempt;
    const run = ids.next('run');
    chains.started(run, chain);
    const body = {
      type: 'trigger.fired',
      trigger: trigger.id,
      workflow: trigger.workflow,
      run,
      seen,
      chain,
    } as const;
    append(body, attempt);
    const started = state.runs.find((each) => each.run === run);
    if (started !== undefined) deps.startRun(started); // otherwise the log is sealed, and another process continues
  };

  const suppress = (
    attempt: Pick<TriggerFiring, 'trigger' | 'chain' | 'cause'>,
    reason: Suppressed['reason'],
    message: string,
  ) => {
    const { trigger, chain } = attempt;
    const body = {
      type: 'trigger.suppressed',
      trigger: trigger.id,
      workflow: trigger.workflow,
      reason,
      message,
    } as const;
    append(reason === 'depth' ? { ...body, chain } : body, attempt);
  };

  const wait = (attempt: TriggerFiring, stage: Stage, id: string, due: number) => {
    const { trigger, as, seen, chain } = attempt;
    const since = stage === 'queued' ? { since: clock.now() } : {};
    const data = waitingData({ trigger: trigger.id, stage, as, seen, chain, ...since });
    append({ type: 'timer.set', id, due, data }, attempt);
    timers.arm(id);
  };

  /** Continues a firing whose wait is over. */
  const resume = (id: string) => {
    timers.disarm(id);
    const timer = state.timers.find((each) => each.id === id);
    const waiting = timer === undefined ? undefined : readWaiting(timer);
    const trigger = waiting === undefined ? undefined : triggers.byId.get(waiting.trigger);
    if (timer === undefined || waiting === undefined || trigger === undefined) return;
    const { stage, as, seen, chain } = waiting;
    const cause = append({ type: 'timer.fired', id }, { cause: timer.cause, chain });
    const attempt: TriggerFiring = { trigger, stage, as, seen, chain, cause, isEcho: false };
    if (stage === 'queued' && isOver() && !takesPlace(trigger))
      suppress(attempt, 'busy', 'The session ended before its turn came.');
    else decide(attempt);
  };

  /**
   * Whether the session is completing and a run was cancelled to make room for this firing. Without this,
   * neither of the two would run. It does not wait for the cancelled run to stop, because nobody would start
   * this one then.
   */
  const takesPlace = (trigger: SessionTrigger) =>
    isEnding &&
    trigger.pacing.concurrency?.whenBusy === 'replace' &&
    toReplace(trigger, { state, cancelled }) === undefined;

  const timers = createWaitTimers({ state, clock, onDue: resume });

  const cancel = (run: string, reason: string) => {
    cancelled.add(run);
    deps.cancelRun(run, reason);
  };

  const queued = (): readonly { readonly id: string; readonly trigger: SessionTrigger }[] =>
    state.timers.flatMap((timer) => {
      const waiting = timer.due === NEVER_DUE ? readWaiting(timer) : undefined;
      const trigger = waiting === undefined ? undefined : triggers.byId.get(waiting.trigger);
      return trigger === undefined ? [] : [{ id: timer.id, trigger }];
    });

  const makeRoom = (workflow: string) => {
    for (const { id, trigger } of queued()) {
      if (trigger.workflow !== workflow) continue;
      if (!hasRoom(trigger, state)) return; // first come, first served
      resume(id);
    }
  };

  const cancelRuns = ({ id, workflow }: SessionTrigger) => {
    // At once, because the condition may hold again when they are due.
    for (const { timer } of waitsOf(state.timers, id)) resume(timer.id);
    for (const { run, trigger } of runsOf(state, workflow))
      if (trigger === id && !cancelled.has(run)) cancel(run, `The condition of "${id}" no longer holds.`);
  };

  /**
   * The condition of a trigger on a change ends with the update that made it true, so no update reports that
   * end.
   */
  const onChange = new Map(
    triggers.all
      .filter(({ cancelsOnExit, afterwards }) => cancelsOnExit && afterwards !== undefined)
      .map((trigger) => [trigger.id, trigger]),
  );
  const cancelLeft = () => {
    if (onChange.size === 0) return;
    const waiting = state.timers.map((timer) => readWaiting(timer)?.trigger ?? '');
    for (const id of new Set([...state.runs.map(({ trigger }) => trigger), ...waiting])) {
      const trigger = onChange.get(id);
      if (trigger !== undefined && !holds(trigger)) cancelRuns(trigger);
    }
  };

  return {
    attempt: decide,
    cancelLeft,
    ended(run, workflow) {
      cancelled.delete(run);
      makeRoom(workflow);
    },
    cancelRuns,
    suppress: (trigger, reason, message, { cause, chain }) =>
      suppress({ trigger, chain: [...chain, trigger.workflow], cause }, reason, message),
    begin() {
      for (const run of state.runs) deps.startRun(run);
      for (const timer of state.timers) if (readWaiting(timer) !== undefined) timers.arm(timer.id);
      for (const { trigger } of queued()) {
        const run =
          trigger.pacing.concurrency?.whenBusy === 'replace'
            ? toReplace(trigger, { state, cancelled })
            : undefined;
        if (run !== undefined) cancel(run, `A newer firing of "${trigger.id}" takes its place.`);
        makeRoom(trigger.workflow);
      }
      for (const trigger of triggers.all) if (trigger.cancelsOnExit && !holds(trigger)) cancelRuns(trigger);
    },
    end() {
      isEnding = true;
      for (const timer of state.timers) if (readWaiting(timer) !== undefined) resume(timer.id);
    },
    close: timers.close,
  };
}

/** Clock timers for the timers on the log. */
export interface WaitTimers {
  /** Arms a timer of the log. A timer with the same id is replaced. */
  arm(id: string): void;
  disarm(id: string): void;
  close(): void;
}

export interface WaitTimerDeps {
  readonly state: Pick<SessionState, 'timers'>;
  readonly clock: Clock;
  readonly onDue: (id: string) => void;
}

function createWaitTimers({ state, clock, onDue }: WaitTimerDeps): WaitTimers {
  const armed = new Map<string, () => void>();
  const disarm = (id: string) => {
    armed.get(id)?.();
    armed.delete(id);
  };
  return {
    disarm,
    arm(id) {
      disarm(id);
      const timer = state.timers.find((each) => each.id === id);
      if (timer === undefined || timer.due === NEVER_DUE) return;
      armed.set(
        id,
        clock.after(timer.due - clock.now(), () => onDue(id)),
      );
    },
    close() {
      for (const id of [...armed.keys()]) disarm(id);
    },
  };
}

type Chain = readonly string[];

/** How many events are remembered with their chains. Consequences follow soon after an event. */
const MAX_REMEMBERED = 10_000;

const NO_CHAIN: Chain = [];

/** Tracks the chains of workflows that triggered each other. */
export interface Chains {
  of(event: SessionEvent): Chain;
  /** Assigns a chain to the next event on the log. */
  note(seq: number, chain: Chain): void;
  started(run: string, chain: Chain): void;
  ended(run: string): void;
}

/** `runs` are the runs that are open already. */
export function createChains(runs: readonly StartedRun[]): Chains {
  const byRun = new Map<string, Chain>(runs.map(({ run, chain }) => [run, chain]));
  const bySeq = new Map<number, Chain>();
  const note = (seq: number, chain: Chain) => {
    bySeq.set(seq, chain);
    if (bySeq.size <= MAX_REMEMBERED) return;
    for (const oldest of bySeq.keys()) {
      bySeq.delete(oldest);
      break;
    }
  };
  const find = (event: SessionEvent): Chain => {
    const { cause, session } = event;
    const own = bySeq.get(event.seq);
    if (own !== undefined) return own;
    if ('run' in event && event.run !== undefined) return byRun.get(event.run) ?? writerOf(event);
    if (cause.stream !== session) return byRun.get(cause.stream) ?? writerOf(event);
    return bySeq.get(cause.seq) ?? NO_CHAIN;
  };
  return {
    of(event) {
      const chain = find(event);
      if (chain.length > 0 && !bySeq.has(event.seq)) note(event.seq, chain);
      return chain;
    },
    note,
    started(run, chain) {
      byRun.set(run, chain);
    },
    ended(run) {
      byRun.delete(run);
    },
  };
}

/** The workflow of a run that an action called. */
function writerOf(event: SessionEvent): Chain {
  if ('workflow' in event) return [event.workflow];
  if (!('by' in event) || !event.by.startsWith(WORKFLOW_WRITER)) return NO_CHAIN;
  return [event.by.slice(WORKFLOW_WRITER.length)];
}
