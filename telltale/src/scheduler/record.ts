import type { RuntimeError } from '../lib/errors.ts';
import { added, dropped } from '../lib/grow.ts';
import type { Json } from '../lib/json.ts';
import type { SkipReason } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import { settle } from './dependency-graph.ts';
import { deadlocked, loopSkipped } from './faults.ts';
import type { Change } from './graph.ts';
import { leaveOnce } from './leave-once.ts';
import { isLoop } from './loops.ts';
import type { Works } from './run.ts';
import { ENDED, noteEnd, pushed, QUEUED, type Run } from './run.ts';

/** Puts on the log, and into the queue, what follows from a transition of the graph. */
export function apply(works: Works, changes: readonly Change[], cause: Cause | undefined): void {
  for (const change of changes) {
    if (change.kind === 'closed') {
      noteEnd(works, change.gate.id);
      continue;
    }
    const run = works.runs.get(change.node.id);
    if (run === undefined || !mayGoOn(works, run)) continue;
    switch (change.kind) {
      case 'ready':
        enqueue(works, run, cause);
        break;
      case 'skip':
        tellLoop(works, run, change.because, cause);
        close(works, run, skipped(run, change.reason, change.because), cause);
        break;
      case 'deadlock': {
        const { why } = change;
        const at = works.deps.append(deadlocked(run.action.id, why, isLoop(run.action)), cause ?? run.cause);
        const because = why.kind === 'cycle' ? why.path.join(' → ') : why.id;
        close(works, run, skipped(run, 'deadlock', because), at);
        break;
      }
    }
  }
}

/** A model is shown no foreach among the results: that one was skipped it hears as a fault. */
function tellLoop(works: Works, run: Run, because: string | undefined, cause: Cause | undefined): void {
  if (isLoop(run.action)) run.cause = works.deps.append(loopSkipped(because), cause ?? run.cause);
}

/** Once everything is being cancelled, that is what each action's end is called. */
const mayGoOn = ({ life }: Works, { undoes }: Run): boolean =>
  life === 'open' || (life === 'failing' && undoes !== undefined);

const skipped = ({ action }: Run, reason: SkipReason, because: string | undefined): EventBody => ({
  type: 'action.skipped',
  id: action.id,
  reason,
  ...(because === undefined ? {} : { because }),
});

export function enqueue(works: Works, run: Run, cause: Cause | undefined): void {
  run.stage = QUEUED;
  run.cause = cause ?? run.cause;
  if (run.counted) works.queue = pushed(works.queue, run);
  else works.free = pushed(works.free, run);
}

/** Records an end that the graph knows of already. */
function close(works: Works, run: Run, body: EventBody, cause: Cause | undefined): Cause {
  const at = works.deps.append(body, cause ?? run.cause);
  run.stage = ENDED;
  works.runs = dropped(works.runs, run.action.id);
  works.openLoops?.delete(run);
  noteEnd(works, run.action.id);
  leaveOnce(run);
  return at;
}

/** Records an end and passes it on; `because` is what dependents are skipped for, undefined where it went well. */
export function finish(works: Works, run: Run, body: EventBody, because: string | undefined): Cause {
  const at = close(works, run, body, run.cause);
  apply(works, settle(works.graph, run.node, because), at);
  return at;
}

export function complete(works: Works, run: Run, output: Json): void {
  const { id } = run.action;
  const { attempts } = run;
  works.completed = added(works.completed, id);
  const ms = elapsed(works, run);
  const at = finish(works, run, { type: 'action.completed', id, output, ms, attempts }, undefined);
  if (run.undoes !== undefined) works.deps.append({ type: 'action.compensated', id: run.undoes, by: id }, at);
}

export function fail(works: Works, run: Run, error: RuntimeError): void {
  const { id, on_error } = run.action;
  const { attempts } = run;
  const ms = elapsed(works, run);
  const at = finish(works, run, { type: 'action.failed', id, error: error.toJSON(), ms, attempts }, id);
  if (on_error === 'fail' && run.undoes === undefined && works.life === 'open') works.fatal(id, error, at);
}

/** `root`: the failure that a dependency of it was skipped for. */
export function skip(works: Works, run: Run, reason: 'if' | 'dependency', because: string | undefined): void {
  const root = reason === 'dependency' ? because : undefined;
  tellLoop(works, run, root, undefined);
  finish(works, run, skipped(run, reason, because), root ?? run.action.id);
}

export const cancel = (works: Works, run: Run, reason: string): Cause =>
  finish(works, run, { type: 'action.cancelled', id: run.action.id, reason }, run.action.id);

const elapsed = ({ deps }: Works, { attempts, since, until }: Run): number =>
  attempts === 0 ? 0 : Math.round((until ?? deps.clock.monotonic()) - since);
