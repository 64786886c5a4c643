import { deepEqual } from '../../conditions/deep-equal.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { LeafCall } from '../leaf.ts';
import type { LeafDeps } from '../steps/leaf-edges.ts';

/**
 * Makes what a completed task brings the run's variables. This stands on the log before the step's end: where a process
 * dies between the two, the next walk finds the task passed, sets what is missing and completes the step.
 */
export function applyUpdates(
  updates: JsonObject,
  by: string,
  { cause }: LeafCall,
  { journal }: Pick<LeafDeps, 'journal'>,
): void {
  const { variables } = journal.state;
  for (const [name, to] of Object.entries(updates)) {
    const from = variables.get(name) ?? null;
    if (variables.has(name) && deepEqual(from, to)) continue;
    journal.append({ type: 'variable.changed', name, from, to, by }, cause);
  }
}
