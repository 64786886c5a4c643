import type { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { SkipReason } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import { settle } from './dependency-graph.ts';
import { deadlocked, loopSkipped } from './faults.ts';
import type { Change } from './graph.ts';
import { leaveOnce } from './leave-once.ts';
import { isLoop } from './loops.ts';
import { ENDED, noteEnd, pushed, QUEUED, type Run, type SchedulerCore } from './run.ts';

/** Puts on the log, and into the queue, what follows from a transition of the graph. */
export function apply(scheduler: SchedulerCore, changes: readonly Change[], cause: Cause | undefined): void {
  for (const change of changes) {
    if (change.kind === 'closed') {
      noteEnd(scheduler, change.gate.id);
      continue;
    }
    const run = scheduler.runs.get(change.node.id);
    if (run === undefined || !mayGoOn(scheduler, run)) continue;
    switch (change.kind) {
      case 'ready':
        enqueue(scheduler, run, cause);
        break;
      case 'skip':
        tellLoop(scheduler, run, change.because, cause);
        close(scheduler, run, skipped(run, change.reason, change.because), cause);
        break;
      case 'deadlock': {
        const { why } = change;
        const at = scheduler.deps.append(
          deadlocked(run.action.id, why, isLoop(run.action)),
          cause ?? run.cause,
        );
        const because = why.kind === 'cycle' ? why.path.join(' → ') : why.id;
        close(scheduler, run, skipped(run, 'deadlock', because), at);
        break;
      }
    }
  }
}

/** A model is shown no foreach among the results: that one was skipped it hears as a fault. */
function tellLoop(
  scheduler: SchedulerCore,
  run: Run,
  because: string | undefined,
  cause: Cause | undefined,
): void {
  if (isLoop(run.action)) run.cause = scheduler.deps.append(loopSkipped(because), cause ?? run.cause);
}

/** Once everything is being cancelled, that is what each action's end is called. */
const mayGoOn = ({ life }: SchedulerCore, { undoes }: Run): boolean =>
  life === 'open' || (life === 'failing' && undoes !== undefined);

const skipped = ({ action }: Run, reason: SkipReason, because: string | undefined): EventBody => ({
  type: 'action.skipped',
  id: action.id,
  reason,
  ...(because === undefined ? {} : { because }),
});

export function enqueue(scheduler: SchedulerCore, run: Run, cause: Cause | undefined): void {
  run.stage = QUEUED;
  run.cause = cause ?? run.cause;
  if (run.counted) scheduler.queue = pushed(scheduler.queue, run);
  else scheduler.free = pushed(scheduler.free, run);
}

/** Records an end that the graph knows of already. */
function close(scheduler: SchedulerCore, run: Run, body: EventBody, cause: Cause | undefined): Cause {
  const at = scheduler.deps.append(body, cause ?? run.cause);
  run.stage = ENDED;
  scheduler.runs.delete(run.action.id);
  scheduler.openLoops?.delete(run);
  noteEnd(scheduler, run.action.id);
  leaveOnce(run);
  return at;
}

/** Records an end and passes it on; `because` is what dependents are skipped for, undefined where it went well. */
export function finish(
  scheduler: SchedulerCore,
  run: Run,
  body: EventBody,
  because: string | undefined,
): Cause {
  const at = close(scheduler, run, body, run.cause);
  apply(scheduler, settle(scheduler.graph, run.node, because), at);
  return at;
}

export function complete(scheduler: SchedulerCore, run: Run, output: Json): void {
  const { id } = run.action;
  const { attempts } = run;
  scheduler.completed.push(id);
  const ms = elapsed(scheduler, run);
  const at = finish(scheduler, run, { type: 'action.completed', id, output, ms, attempts }, undefined);
  if (run.undoes !== undefined)
    scheduler.deps.append({ type: 'action.compensated', id: run.undoes, by: id }, at);
}

export function fail(scheduler: SchedulerCore, run: Run, error: RuntimeError): void {
  const { id, on_error } = run.action;
  const { attempts } = run;
  const ms = elapsed(scheduler, run);
  const at = finish(scheduler, run, { type: 'action.failed', id, error: error.toJSON(), ms, attempts }, id);
  if (on_error === 'fail' && run.undoes === undefined && scheduler.life === 'open')
    scheduler.fatal(id, error, at);
}

/** `root`: the failure that a dependency of it was skipped for. */
export function skip(
  scheduler: SchedulerCore,
  run: Run,
  reason: 'if' | 'dependency',
  because: string | undefined,
): void {
  const root = reason === 'dependency' ? because : undefined;
  tellLoop(scheduler, run, root, undefined);
  finish(scheduler, run, skipped(run, reason, because), root ?? run.action.id);
}

export const cancel = (scheduler: SchedulerCore, run: Run, reason: string): Cause =>
  finish(scheduler, run, { type: 'action.cancelled', id: run.action.id, reason }, run.action.id);

const elapsed = ({ deps }: SchedulerCore, { attempts, since, until }: Run): number =>
  attempts === 0 ? 0 : Math.round((until ?? deps.clock.monotonic()) - since);
