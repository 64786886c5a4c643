import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import type { Binding } from './bind.ts';
import { bindingOf } from './binding-of.ts';
import { awaitName, nameFound, nameSettled, takeAwaiting } from './core.ts';
import { isLoop, loopOf } from './loops.ts';
import { find } from './names.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** A name that nothing has yet: a whole `$name` may come later in the turn, as an id of `depends_on` may. */
export const unnamedOf = (works: Works, action: DeclaredAction, { late }: Binding): string | undefined =>
  late.find(({ name }) => find(works, name, action) === undefined)?.name;

/** What was taken in may be what an action before it waits for: by its id, its `output_key` or its target. */
export function namedBy(works: Works, action: DeclaredAction, cause: Cause | undefined): void {
  for (const { id, output_key, name } of isLoop(action) ? loopOf(action).actions : [action]) {
    named(works, id, cause);
    if (output_key !== undefined) named(works, output_key, cause);
    named(works, name, cause);
  }
}

/** Names that are looked up where the stream is about to wait. */
const MAX_SOUGHT = 100;

/** Values that were set outside without a word may have one of the names: asked before the stream waits for what needs it. */
export function seek(works: Works): void {
  const found: string[] = [];
  let sought = 0;
  for (const name of works.graph.unnamed?.keys() ?? []) {
    if (works.lookup(name) !== undefined) found.push(name);
    if (++sought === MAX_SOUGHT) break;
  }
  for (const name of found) named(works, name, undefined);
}

/** Something may have this name now. */
export function named(works: Works, name: string, cause: Cause | undefined): void {
  const { graph } = works;
  // Nothing has it, such as a target that was called twice: not all that wait for it are to be bound again each time.
  if (graph.unnamed?.has(name) !== true || find(works, name) === undefined) return;
  for (const node of takeAwaiting(graph, name)) {
    const run = works.runs.get(node.id);
    if (run === undefined) continue; // it has ended meanwhile
    if (!isLoop(run.action)) {
      // What the name stands for is waited for when it is about to start.
      const next = unnamedOf(works, run.action, run.binding);
      if (next !== undefined) awaitName(graph, node, next);
      else apply(works, nameSettled(node), cause);
      continue;
    }
    // Each is bound when the one before it is on the log: it may have ended what has the name.
    const binding = bindingOf(works, run.action, true);
    if (binding.late.length > 0) awaitName(graph, node, name);
    else {
      run.binding = binding;
      apply(works, nameFound(graph, node, binding), cause);
    }
  }
}
