import { completesStep, isInBackground, isReported } from '../events/action.ts';
import { added, NONE } from '../kernel/grow.ts';
import { above } from './cycles.ts';
import { isPending, type Node } from './graph.ts';
import type { Run } from './run.ts';
import type { Works } from './works.ts';

/** Unfinished actions that somebody waits for. */
export const trackedIds = (works: Works): readonly string[] => idsWhere(works, true);

/** Unfinished actions that nobody waits for. */
export const untrackedIds = (works: Works): readonly string[] => idsWhere(works, false);

function idsWhere(works: Works, areTracked: boolean): readonly string[] {
  const { runs } = works;
  if (runs.size === 0) return NONE;
  const behind = behindBackground(works);
  let ids: readonly string[] = NONE;
  for (const run of runs.values()) {
    if (isTracked(works, run, behind) === areTracked) ids = added(ids, run.action.id);
  }
  return ids;
}

function isTracked(works: Works, run: Run, behind: ReadonlySet<Node>): boolean {
  const { action, node } = run;
  // A turn never goes on in the midst of the end of a step.
  if (completesStep(action)) return true;
  return isReported(action) && !isRunInBackground(works, run) && !behind.has(node);
}

const NOBODY: ReadonlySet<Node> = new Set();

function isRunInBackground({ state }: Works, { action }: Run): boolean {
  return isInBackground(state.actions.get(action.id) ?? { action });
}

/** What cannot end before an action in the background has. */
function behindBackground(works: Works): ReadonlySet<Node> {
  let found: Set<Node> | undefined;
  for (const run of works.runs.values())
    if (isRunInBackground(works, run)) {
      found ??= new Set();
      for (const next of dependentsOf(run.node)) found.add(next);
    }
  if (found === undefined) return NOBODY;
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const node of found) for (const next of dependentsOf(node)) found.add(next);
  return found;
}

/** What waits for a node: its dependents, and those of the collections that it belongs to. */
function* dependentsOf(node: Node): Iterable<Node> {
  for (const next of node.dependents) if (isPending(next)) yield next;
  for (const gate of node.gates) if (isPending(gate)) yield gate;
}

/** Whether `node` waits for something in `among`, however far up. */
export function waitsForAny(node: Node, among: ReadonlySet<Node>): boolean {
  const seen = new Set<Node>([node]);
  for (const each of seen)
    for (const next of above(each)) {
      if (among.has(next)) return true;
      if (isPending(next)) seen.add(next);
    }
  return false;
}
