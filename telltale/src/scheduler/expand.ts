import { readWholeReference } from '../expressions/references/reference.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { newestOf } from '../log/action-id.ts';
import { freeStream, giveUpUnseen } from './dependency-graph.ts';
import { listUnknown, partUnknown } from './failures.ts';
import { lastPart, loopFailed } from './faults.ts';
import { itemsOf, loopOf, rounds } from './loops.ts';
import { lookupsOf, resolveInput } from './named.ts';
import { apply, complete, fail } from './record.ts';
import type { Run, SchedulerCore } from './run.ts';
import type { Loop } from './scheduler.ts';
import { take } from './take.ts';

/** Makes the actions of a `<foreach>` whose list is there. After a restart: those that are missing. */
export function expand(scheduler: SchedulerCore, run: Run): void {
  const { deps, graph, state } = scheduler;
  const { action } = run;
  const loop = loopOf(action);
  const list = listOf(scheduler, run);
  const items = list.ok ? itemsOf(loop, list.value, () => whyNothing(scheduler, run, loop)) : list;
  if (!items.ok) {
    // A model is shown no foreach among the results: it hears of this one as a fault.
    run.cause = deps.append(loopFailed(items.error), run.cause);
    fail(scheduler, run, items.error);
    return;
  }
  if (run.attempts++ === 0) run.since = deps.clock.monotonic();
  const input = { in: items.value };
  const at = deps.append({ type: 'action.started', id: action.id, attempt: run.attempts, input }, run.cause);
  run.cause = at;
  const ids: string[] = [];
  const { gates } = run.node;
  for (const member of rounds(loop, items.value, action.references)) {
    ids.push(member.id);
    if (!state.actions.has(member.id)) take(scheduler, member, at, { turn: run.turn, undoes: undefined });
  }
  const isOver = run.turn === 'well' || run.turn === 'broken';
  if (isOver && graph.unseen !== undefined) apply(scheduler, giveUpUnseen(graph, new Set(ids)), at);
  complete(scheduler, run, { ids });
  apply(scheduler, freeStream(graph, [], gates), at);
}

/** A name that nobody knows is told apart from a part that what it stands for does not have. */
function whyNothing(
  scheduler: SchedulerCore,
  { action, binding, turn }: Run,
  { in: source }: Loop,
): RuntimeError {
  const reference = readWholeReference(source);
  if (reference === undefined) return listUnknown(source, turn === 'broken');
  const { name, path } = reference;
  const value = lookupsOf(scheduler, action, binding).whole(name);
  if (value !== undefined) return partUnknown(source, lastPart(`$${name}`, value, path));
  return scheduler.graph.gates?.get(newestOf(scheduler.state, name))?.of === 'parallel'
    ? partUnknown(source, `"${name}" is a <parallel>, whose actions have values of their own`)
    : listUnknown(source, turn === 'broken');
}

/** What `in` stands for: where it began before a restart, what it stood for then. */
function listOf(scheduler: SchedulerCore, { action, binding, input }: Run): Result<Json> {
  if (input?.in !== undefined) return ok(input.in);
  const resolved = resolveInput(scheduler, action, binding, action.parameters.in ?? null);
  return resolved.ok ? ok(resolved.value.value) : err(resolved.error);
}
