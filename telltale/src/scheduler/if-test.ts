import { type Decision, decideTest } from '../conditions/cel/decide-test.ts';
import type { Expression } from '../conditions/cel/parse-expression.ts';
import type { DeclaredAction } from '../events/action.ts';
import { newestOf, writtenId } from '../events/action-id.ts';
import { type NameSpace, outputOf } from './names.ts';

/** Whether an action's `if` holds now. */
export const testIf = (
  source: string,
  action: DeclaredAction,
  names: NameSpace,
  context: Readonly<Record<string, unknown>>,
): Decision => decideTest(source, (test) => contextOf(test, action, names, context));

function contextOf(
  test: Expression,
  action: DeclaredAction,
  names: NameSpace,
  context: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const ids = new Set<string>();
  let all = false;
  for (const { root, path } of test.names) {
    if (root !== 'actions') continue;
    if (typeof path[0] === 'string') ids.add(path[0]);
    else all = true;
  }
  return {
    ...action.locals,
    ...context,
    actions: viewOf(names, all ? names.state.actions.keys() : ids),
  };
}

/** `{status, output?, error?}` by id. Only of the ids an expression names: one that walks over all pays for all. */
function viewOf(names: NameSpace, ids: Iterable<string>): Readonly<Record<string, unknown>> {
  const view: Record<string, unknown> = Object.create(null);
  for (const asked of ids) {
    const id = writtenId(asked);
    const newest = newestOf(names.state, id);
    const known = names.state.actions.get(newest);
    if (known !== undefined) {
      const { status, output, error } = known;
      view[id] = {
        status,
        ...(output === undefined ? {} : { output }),
        ...(error === undefined ? {} : { error }),
      };
    } else if (names.loops?.has(newest)) view[id] = viewOfLoop(names, newest);
  }
  return view;
}

function viewOfLoop(names: NameSpace, id: string): unknown {
  const gate = names.graph.gates?.get(id);
  if (gate === undefined || (gate.failedBy === undefined && !(gate.sealed && gate.open.size === 0)))
    return { status: 'running' };
  return gate.failedBy === undefined
    ? { status: 'completed', output: outputOf(names, id) }
    : { status: 'failed' };
}
