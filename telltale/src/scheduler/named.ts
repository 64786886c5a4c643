import { type Lookups, resolveReferences } from '../expressions/references/resolve-references.ts';
import type { RuntimeError } from '../lib/errors.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import { type Binding, bind } from './bind.ts';
import { awaitName, nameFound, nameSettled, takeAwaiting } from './dependency-graph.ts';
import { badParameters } from './failures.ts';
import { type FaultsFault, unknownVariables } from './faults.ts';
import { groupOf } from './gates-of.ts';
import { isLoop, loopOf } from './loops.ts';
import { find, localOf, type NameSpace, outputOf } from './names.ts';
import { apply } from './record.ts';
import type { SchedulerCore } from './run.ts';

/** A name that nothing has yet: a whole `$name` may come later in the turn, as an id of `depends_on` may. */
export const unnamedOf = (
  scheduler: SchedulerCore,
  action: DeclaredAction,
  { late }: Binding,
): string | undefined => late.find(({ name }) => find(scheduler, name, action) === undefined)?.name;

/** What was taken in may be what an action before it waits for: by its id, its `output_key` or its target. */
export function namedBy(scheduler: SchedulerCore, action: DeclaredAction, cause: Cause | undefined): void {
  for (const { id, output_key, name } of isLoop(action) ? loopOf(action).actions : [action]) {
    named(scheduler, id, cause);
    if (output_key !== undefined) named(scheduler, output_key, cause);
    named(scheduler, name, cause);
  }
}

/** Names that are looked up where the stream is about to wait. */
const MAX_SOUGHT = 100;

/** Values that were set outside without a word may have one of the names: asked before the stream waits for what needs it. */
export function seek(scheduler: SchedulerCore): void {
  const found: string[] = [];
  let sought = 0;
  for (const name of scheduler.graph.unnamed?.keys() ?? []) {
    if (scheduler.lookup(name) !== undefined) found.push(name);
    if (++sought === MAX_SOUGHT) break;
  }
  for (const name of found) named(scheduler, name, undefined);
}

/** Something may have this name now. */
export function named(scheduler: SchedulerCore, name: string, cause: Cause | undefined): void {
  const { graph } = scheduler;
  // Nothing has it, such as a target that was called twice: not all that wait for it are to be bound again each time.
  if (graph.unnamed?.has(name) !== true || find(scheduler, name) === undefined) return;
  for (const node of takeAwaiting(graph, name)) {
    const run = scheduler.runs.get(node.id);
    if (run === undefined) continue; // it has ended meanwhile
    if (!isLoop(run.action)) {
      // What the name stands for is waited for when it is about to start.
      const next = unnamedOf(scheduler, run.action, run.binding);
      if (next !== undefined) awaitName(graph, node, next);
      else apply(scheduler, nameSettled(node), cause);
      continue;
    }
    // Each is bound when the one before it is on the log: it may have ended what has the name.
    const binding = bindingOf(scheduler, run.action, true);
    if (binding.late.length > 0) awaitName(graph, node, name);
    else {
      run.binding = binding;
      apply(scheduler, nameFound(graph, node, binding), cause);
    }
  }
}

/** What it waits for. `declared`: whether it, or what made it, has been on the log before. */
export function bindingOf(scheduler: SchedulerCore, action: DeclaredAction, declared: boolean): Binding {
  groupOf(scheduler, action); // it may name the group it is the first of
  return bind(scheduler, action, declared);
}

/** What the names in `action` stand for, now that it starts. */
export function lookupsOf(names: NameSpace, action: DeclaredAction, binding: Binding): Lookups {
  const inserted = (name: string): Json | undefined => {
    const id = binding.inserted.get(name);
    return id === undefined ? localOf(action, name) : outputOf(names, id);
  };
  const whole = (name: string): Json | undefined => {
    const id = binding.bound.get(name);
    if (id !== undefined) return outputOf(names, id);
    const standing = find(names, name, action);
    return standing?.state === 'value' ? standing.value : undefined;
  };
  return { whole, inserted };
}

/** `value` with the references of `action` resolved, and what to tell the model of those that name nothing. */
export function resolveInput<T extends Json>(
  names: NameSpace,
  action: DeclaredAction,
  binding: Binding,
  value: T,
): Result<{ readonly value: T; readonly fault?: FaultsFault }, RuntimeError> {
  if (action.literal === true || !mayRefer(value)) return ok({ value });
  const lookups = lookupsOf(names, action, binding);
  const resolved = resolveReferences(value, lookups);
  if (!resolved.ok) return err(badParameters(resolved.error.message, resolved.error.hint));
  const { unknown } = resolved.value;
  const made = resolved.value.value as T;
  return ok(
    unknown.length === 0
      ? { value: made }
      : { value: made, fault: unknownVariables(action, unknown, lookups) },
  );
}

/** Deeper ones are left to whoever resolves references, and refused there. */
const MAX_SEARCH_DEPTH = 64;

/** Most parameters hold nothing that looks like a reference: then there is nothing to copy. */
function mayRefer(value: Json, depth = 0): boolean {
  if (typeof value === 'string') return value.startsWith('$') || value.includes('{{');
  if (typeof value !== 'object' || value === null) return false;
  if (depth === MAX_SEARCH_DEPTH) return true;
  for (const key in value)
    if (mayRefer((value as Readonly<Record<string, Json>>)[key] as Json, depth + 1)) return true;
  return false;
}
