import { cancelled } from './faults.ts';
import { cancel } from './record.ts';
import { ENDED, giveSlotBack, type Run, releaseGuard, type SchedulerCore } from './scheduler-core.ts';

/** Cancels waiting actions and aborts running ones. Returns the ids of those that have not ended yet. */
export function stopRuns(scheduler: SchedulerCore, all: Iterable<Run>, reason: string): readonly string[] {
  const open: string[] = [];
  for (const run of [...all]) {
    const { stage, action } = run;
    switch (stage.at) {
      case 'ended':
        break;
      case 'running':
        open.push(action.id);
        stage.cancelled ??= reason;
        stage.attempt?.stop(cancelled(reason));
        break;
      case 'backing_off':
        stage.forget();
        cancel(scheduler, run, reason);
        break;
      case 'awaiting_approval':
      case 'in_hook':
      case 'awaiting_slot':
        stage.withdraw();
        cancel(scheduler, run, reason);
        break;
      case 'committing':
        if (run.usesCapacity) scheduler.capacity++;
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

/** The unfinished actions of an id: of an action, a `<parallel>` or a `<foreach>`. */
export function openRunsOf({ runs, graph }: SchedulerCore, id: string): readonly Run[] {
  const open = new Set<Run>();
  const ids = [id];
  for (let at = ids.pop(); at !== undefined; at = ids.pop()) {
    const run = runs.get(at);
    if (run !== undefined) open.add(run);
    for (const member of graph.joins.get(at)?.open ?? []) ids.push(member.id);
  }
  return [...open];
}

export const RELEASED = 'This process let go of the session.';

/** The log is lost, or belongs to another process: nothing can be recorded any more, so everything stops. */
export function releaseLog(scheduler: SchedulerCore): void {
  if (scheduler.status === 'lost') return;
  scheduler.status = 'lost';
  scheduler.queue.clear();
  scheduler.uncountedQueue.clear();
  scheduler.notifier.clear();
  for (const run of [...scheduler.runs.values()]) {
    if (run.stage.at === 'running') {
      run.stage.attempt?.stop(cancelled(RELEASED));
    } else {
      if (run.stage.at === 'backing_off') run.stage.forget();
      if ('withdraw' in run.stage) run.stage.withdraw();
      giveSlotBack(run);
      forgetRun(scheduler, run);
    }
  }
  if (scheduler.runs.size === 0) resolveIdle(scheduler);
}

/** Ends an action without recording anything. */
export function forgetRun(scheduler: SchedulerCore, run: Run): void {
  run.stage = ENDED;
  releaseGuard(run);
  scheduler.runs.delete(run.action.id);
  if (scheduler.runs.size === 0) resolveIdle(scheduler);
}

function resolveIdle(scheduler: SchedulerCore): void {
  const waiting = [...scheduler.idle];
  scheduler.idle.clear();
  for (const then of waiting) then();
}

/** Calls back when nothing runs any more after the log was lost. */
export function whenIdle(scheduler: SchedulerCore, then: () => void): void {
  if (scheduler.runs.size === 0) {
    then();
    return;
  }
  scheduler.idle.add(then);
}
