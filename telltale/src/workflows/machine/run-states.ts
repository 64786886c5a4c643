import type { RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Locals } from '../scope.ts';
import type { Test } from '../step-executor.ts';
import { stepsByName } from './composite.ts';
import { DEFAULT_MAX_TRANSITIONS, noTransition, stateUnknown, transitionLimit } from './failures.ts';
import {
  endOnLog,
  type ListContext,
  type ListOutcome,
  notBegun,
  type StateVisit,
  type StepOutcome,
  type Walk,
} from './walk.ts';

type StateDefinitions = NonNullable<WorkflowManifest['states']>;

interface TransitionRule {
  readonly to: string;
  readonly condition?: Test | undefined;
}

interface NextState {
  readonly state: string;
  readonly by: string;
}

/**
 * Walks from state to state until a final one. The output is that of the last state that did something. A
 * state whose steps fail fails the run.
 */
export async function runStates(
  walk: Walk,
  workflow: WorkflowManifest,
  states: StateDefinitions,
  place: ListContext,
): Promise<ListOutcome> {
  const { visited } = walk.state;
  const max = workflow.max_transitions ?? DEFAULT_MAX_TRANSITIONS;
  const visits = new Map<string, number>();
  const chosenBefore = choicesOnLog(walk, workflow);
  let output: Json = null;
  let seq = 0;
  let from: string | undefined;
  // A changed workflow may have another initial state. The run started where its log says.
  let next: NextState = visited[0] ?? { state: workflow.initial ?? '', by: 'initial' };
  const failed = (error: RuntimeError): ListOutcome => ({ kind: 'failed', error: error.toJSON(), seq });

  for (let entered = 0; ; entered++) {
    const left = visited[entered + 1];
    // A state that the run has left may have been removed since.
    const definition = Object.hasOwn(states, next.state)
      ? states[next.state]
      : left && { steps: [], transitions: [], final: false };
    if (definition === undefined) return failed(stateUnknown(next.state, next.by, Object.keys(states)));
    if (entered > max) return failed(transitionLimit(next.state, max));
    const { state, by } = next;
    const visit = (visits.get(state) ?? 0) + 1;
    visits.set(state, visit);
    const cause =
      entered < visited.length
        ? place.cause
        : walk.write({ type: 'state.entered', state, ...(from === undefined ? {} : { from }), by, visit });
    const here: StateVisit = chosenBefore.get(`${state}@${visit}`) ?? {};
    const outcome = await walk.list(definition.steps, {
      ...place,
      cause,
      prefix: `${state}@${visit}/`,
      visit: here,
      ...(left === undefined ? {} : { isOver: true }),
    });
    if (outcome.kind !== 'completed') return outcome;
    seq = Math.max(seq, outcome.seq);
    if (outcome.seq > 0) output = outcome.output;
    if (definition.final && left === undefined) return { kind: 'completed', output, seq };
    const chosen =
      left ??
      (await leave(walk, waysFrom(workflow, definition.transitions, state), `${state}@${visit}`, here));
    if (place.branch.stopped !== undefined) return notBegun(place.branch);
    if ('tried' in chosen) return failed(noTransition(state, chosen.tried));
    from = state;
    next = chosen;
  }
}

/** The choices of `transition` steps, by visit. Steps inside a completed step are not walked again. */
function choicesOnLog({ state }: Walk, workflow: WorkflowManifest): ReadonlyMap<string, StateVisit> {
  const steps = stepsByName(workflow);
  const choices = new Map<string, StateVisit>();
  for (const known of state.steps.values()) {
    const step = steps.get(stepName(known.step));
    const ended = step?.type === 'transition' ? endOnLog(known) : undefined;
    if (step === undefined || ended === undefined) continue;
    const at = known.step.slice(0, known.step.indexOf('/'));
    const visit = choices.get(at) ?? {};
    noteChoice(visit, step, known.step, ended);
    choices.set(at, visit);
  }
  return choices;
}

/** The next state: chosen by a `transition` step, or the first transition whose condition holds. */
async function leave(
  walk: Walk,
  ways: readonly TransitionRule[],
  at: string,
  { chosen }: StateVisit,
): Promise<NextState | { readonly tried: readonly string[] }> {
  if (chosen !== undefined) return { state: chosen.state, by: `step ${chosen.step}` };
  for (const [index, { to, condition }] of ways.entries())
    if (condition === undefined || (await takeTest(walk, `${at}:transition ${index}`, condition, {})))
      return { state: to, by: `transition ${index}` };
  return { tried: ways.map(({ to, condition }) => `to "${to}" if ${showTest(condition ?? true)}`) };
}

/** The state's own transitions, then those of the workflow that apply to it. */
const waysFrom = (
  workflow: WorkflowManifest,
  own: readonly TransitionRule[],
  state: string,
): readonly TransitionRule[] => [
  ...own,
  ...(workflow.transitions ?? []).filter(({ from }) =>
    Array.isArray(from) ? from.includes(state) : from === '*' || from === state,
  ),
];

/** The result of a test, from the log or evaluated now. */
export function takeTest(
  { state, decisions }: Walk,
  at: string,
  test: Test,
  locals: Locals,
): boolean | Promise<boolean> {
  if (typeof test === 'boolean') return test;
  return state.decided.get(at) ?? decisions.test(at, test, locals);
}

/** A test as text for the log. */
export const showTest = (test: Test): string =>
  typeof test === 'object' ? `${test.invoke}.${test.method}` : String(test);

/** Records the choice of a `transition` step for the current visit. The last one on the log counts. */
export function noteChoice(
  visit: StateVisit | undefined,
  step: Step,
  address: string,
  outcome: StepOutcome,
): void {
  if (step.type !== 'transition' || outcome.kind !== 'completed' || visit === undefined) return;
  const { output, seq } = outcome;
  const state = typeof output === 'object' && output !== null && 'state' in output ? output.state : undefined;
  if (typeof state === 'string' && seq >= (visit.chosen?.seq ?? 0))
    visit.chosen = { state, step: address, seq };
}
