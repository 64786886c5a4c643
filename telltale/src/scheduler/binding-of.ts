import type { DeclaredAction } from '../events/action.ts';
import { type Binding, bind } from './bind.ts';
import { groupOf } from './gates-of.ts';
import type { Works } from './works.ts';

/** What it waits for. `declared`: whether it, or what made it, has been on the log before. */
export function bindingOf(works: Works, action: DeclaredAction, declared: boolean): Binding {
  groupOf(works, action); // it may name the group it is the first of
  return bind(works, action, declared);
}
