import { type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import { stopAttempt } from './attempt.ts';
import type { TargetTraits } from './edges.ts';
import { cancelled } from './failures.ts';
import { leaveOnce } from './leave-once.ts';
import { cancel, enqueue, fail } from './record.ts';
import { ENDED, mute, pushed, QUEUED, type Run, type SchedulerCore, type Slotting } from './run.ts';

/** Ends what waits, aborts what runs, and says which have not ended yet. */
export function stop(scheduler: SchedulerCore, all: Iterable<Run>, reason: string): readonly string[] {
  const open: string[] = [];
  for (const run of [...all]) {
    const { stage, action } = run;
    switch (stage.at) {
      case 'ended':
        break;
      case 'running':
        open.push(action.id);
        stage.cancelled ??= reason;
        if (stage.attempt !== undefined) stopAttempt(stage.attempt, cancelled(reason));
        break;
      case 'resting':
        stage.forget();
        cancel(scheduler, run, reason);
        break;
      case 'clearing':
      case 'looking':
      case 'slotting':
        stage.withdraw();
        cancel(scheduler, run, reason);
        break;
      case 'committing':
        if (run.counted) scheduler.places++;
        giveSlotBack(run);
        cancel(scheduler, run, reason);
        break;
      case 'waiting':
      case 'queued':
        giveSlotBack(run);
        cancel(scheduler, run, reason);
        break;
    }
  }
  return open;
}

/** What has not ended of an action, a `<parallel>` or what a `<foreach>` made. */
export function openOf({ runs, graph }: SchedulerCore, id: string): readonly Run[] {
  const open = new Set<Run>();
  const ids = [id];
  for (let at = ids.pop(); at !== undefined; at = ids.pop()) {
    const run = runs.get(at);
    if (run !== undefined) open.add(run);
    for (const member of graph.gates?.get(at)?.open ?? []) ids.push(member.id);
  }
  return [...open];
}

export const LET_GO = 'This process let go of the session.';

/** The log is lost, or somebody else's: nothing can be recorded any more, so nothing may happen any more. */
export function lose(scheduler: SchedulerCore): void {
  if (scheduler.life === 'lost') return;
  scheduler.life = 'lost';
  scheduler.queue = undefined;
  scheduler.free = undefined;
  mute(scheduler);
  for (const run of [...scheduler.runs.values()]) {
    if (run.stage.at === 'running') {
      if (run.stage.attempt !== undefined) stopAttempt(run.stage.attempt, cancelled(LET_GO));
    } else {
      if (run.stage.at === 'resting') run.stage.forget();
      if ('withdraw' in run.stage) run.stage.withdraw();
      giveSlotBack(run);
      leave(scheduler, run);
    }
  }
  if (scheduler.runs.size === 0) rouse(scheduler);
}

/** Ends an action without a word. */
export function leave(scheduler: SchedulerCore, run: Run): void {
  run.stage = ENDED;
  leaveOnce(run);
  scheduler.runs.delete(run.action.id);
  if (scheduler.runs.size === 0) rouse(scheduler);
}

function rouse(scheduler: SchedulerCore): void {
  const { idle } = scheduler;
  scheduler.idle = undefined;
  for (const then of idle ?? []) then();
}

/** Calls back when nothing runs any more after the log was lost. */
export function whenIdle(scheduler: SchedulerCore, then: () => void): void {
  if (scheduler.runs.size === 0) {
    then();
    return;
  }
  scheduler.idle ??= new Set();
  scheduler.idle.add(then);
}

/**
 * Takes one of its target's slots, where that has a limit. An action that waits for one takes no place, so that others
 * go on. One that is given a slot when there is no place gives it back: it must not keep a slot from an action below the
 * very one that has the place. The next time it keeps its place while it waits, and so comes to its turn.
 */
export function hasSlot(scheduler: SchedulerCore, run: Run): boolean {
  const slots = run.traits?.slots;
  if (slots === undefined || run.slot !== undefined) return true;
  return isTaken(scheduler, run, slots);
}

type StopSlots = NonNullable<TargetTraits['slots']>;

function isTaken(scheduler: SchedulerCore, run: Run, { key, max }: StopSlots): boolean {
  const controller = new AbortController();
  const asked = scheduler.deps.slot?.({ key, max, signal: controller.signal });
  if (asked === undefined) return true;
  if (typeof asked === 'function') {
    run.slot = asked;
    return true;
  }
  const holdsPlace = run.counted && run.keepsPlace === true;
  if (holdsPlace) scheduler.places--;
  const givePlaceBack = () => {
    if (holdsPlace) scheduler.places++;
  };
  const stage: Slotting = {
    at: 'slotting',
    withdraw() {
      givePlaceBack();
      stopWith(controller, cancelled('The action was cancelled.'));
    },
  };
  run.stage = stage;
  const given = (free: () => void) => {
    if (run.stage !== stage) {
      free(); // cancelled, or the log is lost
      return;
    }
    givePlaceBack();
    if (run.counted && scheduler.places === 0) {
      free();
      run.keepsPlace = true;
      enqueue(scheduler, run, undefined);
    } else {
      run.slot = free;
      run.stage = QUEUED;
      scheduler.free = pushed(scheduler.free, run); // it has waited for its turn
    }
    scheduler.goOn();
  };
  const refused = (error: RuntimeError) => {
    if (run.stage !== stage) return;
    givePlaceBack();
    fail(scheduler, run, error);
    scheduler.goOn();
  };
  asked.then(given, (thrown: unknown) => refused(toRuntimeError(thrown)));
  return false;
}

export function giveSlotBack(run: Run): void {
  run.slot?.();
  run.slot = undefined;
}
