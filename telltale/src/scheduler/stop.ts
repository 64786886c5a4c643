import { type RuntimeError, stopWith, toRuntimeError } from '../lib/errors.ts';
import { dropped } from '../lib/grow.ts';
import { stopAttempt } from './attempt.ts';
import type { TargetTraits } from './edges.ts';
import { cancelled } from './failures.ts';
import { leaveOnce } from './leave-once.ts';
import { cancel, enqueue, fail } from './record.ts';
import { ENDED, mute, pushed, QUEUED, type Run, type Slotting, type Works } from './run.ts';

/** Ends what waits, aborts what runs, and says which have not ended yet. */
export function stop(works: Works, all: Iterable<Run>, reason: string): readonly string[] {
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
        cancel(works, run, reason);
        break;
      case 'clearing':
      case 'looking':
      case 'slotting':
        stage.withdraw();
        cancel(works, run, reason);
        break;
      case 'committing':
        if (run.counted) works.places++;
        giveSlotBack(run);
        cancel(works, run, reason);
        break;
      case 'waiting':
      case 'queued':
        giveSlotBack(run);
        cancel(works, run, reason);
        break;
    }
  }
  return open;
}

/** What has not ended of an action, a `<parallel>` or what a `<foreach>` made. */
export function openOf({ runs, graph }: Works, id: string): readonly Run[] {
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
export function lose(works: Works): void {
  if (works.life === 'lost') return;
  works.life = 'lost';
  works.queue = undefined;
  works.free = undefined;
  mute(works);
  for (const run of [...works.runs.values()]) {
    if (run.stage.at === 'running') {
      if (run.stage.attempt !== undefined) stopAttempt(run.stage.attempt, cancelled(LET_GO));
    } else {
      if (run.stage.at === 'resting') run.stage.forget();
      if ('withdraw' in run.stage) run.stage.withdraw();
      giveSlotBack(run);
      leave(works, run);
    }
  }
  if (works.runs.size === 0) rouse(works);
}

/** Ends an action without a word. */
export function leave(works: Works, run: Run): void {
  run.stage = ENDED;
  leaveOnce(run);
  works.runs = dropped(works.runs, run.action.id);
  if (works.runs.size === 0) rouse(works);
}

function rouse(works: Works): void {
  const { idle } = works;
  works.idle = undefined;
  for (const then of idle ?? []) then();
}

/** Calls back when nothing runs any more after the log was lost. */
export function whenIdle(works: Works, then: () => void): void {
  if (works.runs.size === 0) {
    then();
    return;
  }
  works.idle ??= new Set();
  works.idle.add(then);
}

/**
 * Takes one of its target's slots, where that has a limit. An action that waits for one takes no place, so that others
 * go on. One that is given a slot when there is no place gives it back: it must not keep a slot from an action below the
 * very one that has the place. The next time it keeps its place while it waits, and so comes to its turn.
 */
export function hasSlot(works: Works, run: Run): boolean {
  const slots = run.traits?.slots;
  if (slots === undefined || run.slot !== undefined) return true;
  return isTaken(works, run, slots);
}

type StopSlots = NonNullable<TargetTraits['slots']>;

function isTaken(works: Works, run: Run, { key, max }: StopSlots): boolean {
  const controller = new AbortController();
  const asked = works.deps.slot?.({ key, max, signal: controller.signal });
  if (asked === undefined) return true;
  if (typeof asked === 'function') {
    run.slot = asked;
    return true;
  }
  const holdsPlace = run.counted && run.keepsPlace === true;
  if (holdsPlace) works.places--;
  const givePlaceBack = () => {
    if (holdsPlace) works.places++;
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
    if (run.counted && works.places === 0) {
      free();
      run.keepsPlace = true;
      enqueue(works, run, undefined);
    } else {
      run.slot = free;
      run.stage = QUEUED;
      works.free = pushed(works.free, run); // it has waited for its turn
    }
    works.goOn();
  };
  const refused = (error: RuntimeError) => {
    if (run.stage !== stage) return;
    givePlaceBack();
    fail(works, run, error);
    works.goOn();
  };
  asked.then(given, (thrown: unknown) => refused(toRuntimeError(thrown)));
  return false;
}

export function giveSlotBack(run: Run): void {
  run.slot?.();
  run.slot = undefined;
}
