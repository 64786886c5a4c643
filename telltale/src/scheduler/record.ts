import type { RuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { type DeclaredAction, isForEach, type SkipReason } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import { isSpoilt } from '../log/fold-turns.ts';
import { type Binding, createBinding } from './bindings.ts';
import {
  awaitName,
  invalidate,
  nameFound,
  nameSettled,
  openJoin,
  removeAwaiting,
  settle,
} from './dependency-graph.ts';
import { deadlocked, loopSkipped } from './faults.ts';
import { loopOf } from './foreach.ts';
import type { Change, JoinNode } from './graph.ts';
import { findReferent } from './names.ts';
import { ENDED, QUEUED, type Run, releaseGuard, type SchedulerCore } from './scheduler-core.ts';
import type { ForEachLoop } from './scheduler-deps.ts';

/** Logs and queues what follows from a change of the graph. */
export function applyChanges(
  scheduler: SchedulerCore,
  changes: readonly Change[],
  cause: Cause | undefined,
): void {
  for (const change of changes) {
    if (change.kind === 'closed') {
      scheduler.notifier.add(change.join.id);
      continue;
    }
    const run = scheduler.runs.get(change.node.id);
    if (run === undefined || !mayProceed(scheduler, run)) continue;
    switch (change.kind) {
      case 'ready':
        enqueue(scheduler, run, cause);
        break;
      case 'skip':
        reportSkippedForEach(scheduler, run, change.because, cause);
        recordEnd(scheduler, run, skipped(run, change.reason, change.because), cause);
        break;
      case 'deadlock': {
        const { why } = change;
        const at = scheduler.deps.append(
          deadlocked(run.action.id, why, isForEach(run.action)),
          cause ?? run.cause,
        );
        const because = why.kind === 'cycle' ? why.path.join(' → ') : why.id;
        recordEnd(scheduler, run, skipped(run, 'deadlock', because), at);
        break;
      }
    }
  }
}

/** Results do not show a `<foreach>` to the model, so a skipped one is reported as a fault. */
function reportSkippedForEach(
  scheduler: SchedulerCore,
  run: Run,
  because: string | undefined,
  cause: Cause | undefined,
): void {
  if (isForEach(run.action)) run.cause = scheduler.deps.append(loopSkipped(because), cause ?? run.cause);
}

/** Once everything is being cancelled, actions end as cancelled and for no other reason. */
const mayProceed = ({ status }: SchedulerCore, { undoes }: Run): boolean =>
  status === 'open' || (status === 'failing' && undoes !== undefined);

const skipped = ({ action }: Run, reason: SkipReason, because: string | undefined): EventBody => ({
  type: 'action.skipped',
  id: action.id,
  reason,
  ...(because === undefined ? {} : { because }),
});

export function enqueue(scheduler: SchedulerCore, run: Run, cause: Cause | undefined): void {
  run.stage = QUEUED;
  run.cause = cause ?? run.cause;
  (run.usesCapacity ? scheduler.queue : scheduler.uncountedQueue).push(run);
}

/** Logs an end that the graph knows already. */
function recordEnd(scheduler: SchedulerCore, run: Run, body: EventBody, cause: Cause | undefined): Cause {
  const at = scheduler.deps.append(body, cause ?? run.cause);
  run.stage = ENDED;
  scheduler.runs.delete(run.action.id);
  scheduler.openLoops.delete(run);
  scheduler.notifier.add(run.action.id);
  releaseGuard(run);
  return at;
}

/** Logs an end and applies what follows from it. Without `because` the action succeeded; with it, dependents are skipped. */
export function finish(
  scheduler: SchedulerCore,
  run: Run,
  body: EventBody,
  because: string | undefined,
): Cause {
  const at = recordEnd(scheduler, run, body, run.cause);
  applyChanges(scheduler, settle(scheduler.graph, run.node, because), at);
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
  if (on_error === 'fail' && run.undoes === undefined && scheduler.status === 'open')
    scheduler.failSession(id, error, at);
}

/** Skips an action. For a failed dependency, `because` is the action whose failure is the root cause. */
export function skip(
  scheduler: SchedulerCore,
  run: Run,
  reason: 'if' | 'dependency',
  because: string | undefined,
): void {
  const root = reason === 'dependency' ? because : undefined;
  reportSkippedForEach(scheduler, run, root, undefined);
  finish(scheduler, run, skipped(run, reason, because), root ?? run.action.id);
}

export const cancel = (scheduler: SchedulerCore, run: Run, reason: string): Cause =>
  finish(scheduler, run, { type: 'action.cancelled', id: run.action.id, reason }, run.action.id);

const elapsed = ({ deps }: SchedulerCore, { attempts, startedAt, targetEndedAt }: Run): number =>
  attempts === 0 ? 0 : Math.round((targetEndedAt ?? deps.clock.monotonic()) - startedAt);

/** The first name that nothing has yet. The model may declare what a whole `$name` refers to later in the turn. */
export const firstUnresolvedName = (
  scheduler: SchedulerCore,
  action: DeclaredAction,
  { unresolved }: Binding,
): string | undefined =>
  unresolved.find(({ name }) => findReferent(scheduler, name, action) === undefined)?.name;

/** Earlier actions may wait for a name of this action: its id, its `output_key` or its target. */
export function announceNamesOf(
  scheduler: SchedulerCore,
  action: DeclaredAction,
  cause: Cause | undefined,
): void {
  for (const { id, output_key, name } of isForEach(action) ? loopOf(action).actions : [action]) {
    announceName(scheduler, id, cause);
    if (output_key !== undefined) announceName(scheduler, output_key, cause);
    announceName(scheduler, name, cause);
  }
}

/** How many names are looked up when the stream is about to wait. */
const MAX_SOUGHT = 100;

/** Looks up awaited names among values that were set outside, before the stream waits for the actions that need them. */
export function announceOutsideNames(scheduler: SchedulerCore): void {
  const found: string[] = [];
  let sought = 0;
  for (const name of scheduler.graph.unnamed.keys()) {
    if (scheduler.lookup(name) !== undefined) found.push(name);
    if (++sought === MAX_SOUGHT) break;
  }
  for (const name of found) announceName(scheduler, name, undefined);
}

/** Something may have this name now: actions that wait for the name are checked again. */
export function announceName(scheduler: SchedulerCore, name: string, cause: Cause | undefined): void {
  const { graph } = scheduler;
  // A target that was called twice has no name. Checking first avoids binding all waiting actions again in vain.
  if (!graph.unnamed.has(name) || findReferent(scheduler, name) === undefined) return;
  for (const node of removeAwaiting(graph, name)) {
    const run = scheduler.runs.get(node.id);
    if (run === undefined) continue; // it has ended meanwhile
    if (!isForEach(run.action)) {
      // The action waits for what the name stands for when it is about to start.
      const next = firstUnresolvedName(scheduler, run.action, run.binding);
      if (next !== undefined) awaitName(graph, node, next);
      else applyChanges(scheduler, nameSettled(node), cause);
      continue;
    }
    // Bound one after the other: applying the changes of one may end what the name stands for.
    const binding = bindingOf(scheduler, run.action, true);
    if (binding.unresolved.length > 0) awaitName(graph, node, name);
    else {
      run.binding = binding;
      applyChanges(scheduler, nameFound(graph, node, binding), cause);
    }
  }
}

/** What the action waits for. `declared`: whether it, or the `<foreach>` that created it, is on the log already. */
export function bindingOf(scheduler: SchedulerCore, action: DeclaredAction, declared: boolean): Binding {
  parallelsOf(scheduler, action); // opens them: the action may refer to a group that it is the first member of
  return createBinding(scheduler, action, declared);
}

/** The join nodes that an action belongs to. For a `<foreach>`: those that its actions will belong to. */
export function joinsOf(scheduler: SchedulerCore, action: DeclaredAction): readonly JoinNode[] {
  const { joins } = scheduler.graph;
  if (isForEach(action)) return loopOf(action).actions.flatMap(({ id }) => joins.get(id) ?? []);
  const join = action.base === undefined ? undefined : joins.get(action.base);
  return join === undefined ? parallelsOf(scheduler, action) : [join];
}

const NO_JOINS: readonly JoinNode[] = [];

/** The join nodes of the `<parallel>`s that contain the action. Opens those that are new. */
function parallelsOf(scheduler: SchedulerCore, { group, within }: DeclaredAction): readonly JoinNode[] {
  if (group === undefined) return NO_JOINS;
  const joinOf = (id: string) => scheduler.graph.joins.get(id) ?? openParallel(scheduler, id);
  return within === undefined ? [joinOf(group)] : [joinOf(group), ...within.map(joinOf)];
}

function openParallel(scheduler: SchedulerCore, id: string): JoinNode {
  const join = openJoin(scheduler.graph, id, 'parallel');
  if (isSpoilt(scheduler.state, id)) invalidateParallel(scheduler, id);
  return join;
}

/** Opens the join nodes of the actions that a `<foreach>` will create, and registers their output keys. */
export function openForEach(scheduler: SchedulerCore, loop: ForEachLoop): void {
  for (const action of loop.actions) {
    openJoin(scheduler.graph, action.id, 'foreach', parallelsOf(scheduler, action));

    scheduler.loops.set(action.id, loop);
    if (action.output_key !== undefined) scheduler.keys.set(action.output_key, action.id);
  }
}

/** Makes a `<parallel>` fail, whatever becomes of its actions. One without actions fails when it gets its first. */
export function invalidateParallel(scheduler: SchedulerCore, group: string): void {
  const join = scheduler.graph.joins.get(group);
  if (join?.source === 'parallel')
    applyChanges(scheduler, invalidate(scheduler.graph, join, group), undefined);
}
