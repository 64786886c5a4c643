import type { PlannedAction } from '../../../events/run-event.ts';
import { suggest } from '../../../kernel/nearest.ts';
import type { RuntimeError } from '../../../kernel/runtime-error.ts';
import { clip } from '../../../manifest/schema/show-value.ts';
import { compileCheck } from '../../../targets/check-parameters.ts';
import type { Callable, Callables } from './callables.ts';
import { wrongExpectation } from './expectation.ts';
import { loosenSchema } from './loosen-schema.ts';
import { MAX_PROBLEMS } from './plan-limits.ts';
import { holdsReference, wrongReference } from './result-references.ts';

/**
 * Why a plan cannot be executed, an action a line; undefined where it can. `before` results are there already.
 */
export function checkPlan(
  plan: readonly PlannedAction[],
  callables: Callables,
  before: number,
): string | undefined {
  const problems = plan.flatMap((action, index) => {
    const problem = problemOf(action, callables, before + index);
    return problem === undefined ? [] : [`Action ${index + 1} ("${clip(action.action)}"): ${problem}`];
  });
  if (problems.length === 0) return undefined;
  const more = problems.length - MAX_PROBLEMS;
  return [...problems.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`And ${more} more.`] : [])].join('\n');
}

function problemOf(
  { action, parameters, expect }: PlannedAction,
  callables: Callables,
  position: number,
): string | undefined {
  const called = callables.get(action);
  if (called === undefined)
    return `it cannot be called. ${suggest(action, [...callables.keys()], 'What can be called')}`;
  const wrong = wrongReference(parameters, position) ?? wrongParameters(called, parameters);
  if (wrong !== undefined) return wrong;
  return expect === undefined ? undefined : wrongExpectation(expect);
}

function wrongParameters(
  { kind, target }: Callable,
  parameters: PlannedAction['parameters'],
): string | undefined {
  if (!holdsReference(parameters)) return told(target.check(parameters));
  const what = `${kind} "${target.name}"`;
  const wrong = compileCheck(loosenSchema(target.parameters, parameters), what)(parameters);
  // A part of a schema may not stand for itself: then the whole one judges, when the action is done.
  return wrong?.code === 'bad_schema' ? undefined : told(wrong);
}

const told = (error: RuntimeError | undefined): string | undefined =>
  error === undefined || error.hint === undefined ? error?.message : `${error.message} ${error.hint}`;
