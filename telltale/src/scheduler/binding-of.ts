import type { DeclaredAction } from '../events/action.ts';
import { type Binding, bind } from './bind.ts';
import { groupOf } from './gates-of.ts';
import { isLoop } from './loops.ts';
import type { Works } from './works.ts';

/** What it waits for. */
export function bindingOf(works: Works, action: DeclaredAction): Binding {
  groupOf(works, action); // it may name the group it is the first of
  return bind(works, action, isLoop(action) ? (action.parameters.in ?? null) : action.parameters);
}
