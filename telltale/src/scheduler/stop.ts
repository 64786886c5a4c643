import { dropped } from '../kernel/grow.ts';
import { stopAttempt } from './attempt.ts';
import { mute } from './bell.ts';
import { cancelled } from './failures.ts';
import { leaveOnce } from './leave-once.ts';
import { cancel } from './record.ts';
import { ENDED, type Run } from './run.ts';
import { giveSlotBack } from './slot.ts';
import type { Works } from './works.ts';

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
