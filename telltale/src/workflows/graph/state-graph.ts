import { asText } from '../../conditions/as-text.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { stepLines, testText } from './step-text.ts';

type States = NonNullable<WorkflowManifest['states']>;
type State = States[string];
type TransitionStep = Extract<Step, { readonly type: 'transition' }>;

/** Steps that a state lists: those behind are counted. */
const MAX_LISTED = 8;

/** Draws a machine: a node for each state, an edge for each way out of it. */
export function drawStates(workflow: WorkflowManifest, into: GraphBuilder): void {
  const states = workflow.states ?? {};
  const start = into.node('start', '', [], undefined);
  const ids = new Map(
    Object.entries(states).map(([name, state]) => [
      name,
      into.node(state.final ? 'final' : 'state', name, stateLines(state), undefined),
    ]),
  );
  const lead = (from: string, to: string, label: string | undefined, kind: 'next' | 'open' = 'next') => {
    const target = ids.get(to);
    if (target !== undefined) into.edge({ from, ...(label === undefined ? {} : { label }) }, target, kind);
  };
  if (workflow.initial !== undefined) lead(start, workflow.initial, undefined);
  for (const [name, state] of Object.entries(states)) {
    const from = ids.get(name);
    if (from === undefined) continue;
    for (const step of transitionSteps(state.steps)) {
      const map = 'transition_map' in step ? step.transition_map : undefined;
      for (const [answer, to] of Object.entries(map ?? {})) lead(from, to, answer);
      if (!('transition_source' in step)) continue;
      const fallback = asText(step.transition_source.fallback);
      if (map === undefined)
        for (const to of Object.keys(states))
          if (to !== name && to !== fallback) lead(from, to, undefined, 'open');
      if (map === undefined || !Object.hasOwn(map, fallback)) lead(from, fallback, 'fallback', 'open');
    }
    const ways = [...state.transitions, ...leaving(workflow, name)];
    for (const [index, { to, condition }] of ways.entries()) {
      const test = condition === undefined ? undefined : testText(condition);
      lead(from, to, ways.length === 1 ? test : `${index + 1}: ${test ?? 'else'}`);
    }
  }
}

/** The workflow's own transitions that leave this state: they come after the state's. */
const leaving = ({ transitions = [], states = {} }: WorkflowManifest, name: string) =>
  states[name]?.final === true
    ? []
    : transitions.filter(
        ({ from }) => from === '*' || from === name || (Array.isArray(from) && from.includes(name)),
      );

function stateLines({ description, steps }: State): readonly string[] {
  const listed = steps.slice(0, MAX_LISTED).map((step) => `${step.name}: ${stepLines(step)[0] ?? step.type}`);
  const more = steps.length - listed.length;
  return [
    ...(description === undefined ? [] : [description]),
    ...listed,
    ...(more > 0 ? [`… ${more} more ${more === 1 ? 'step' : 'steps'}`] : []),
  ];
}

/** Also those inside of other steps. */
function transitionSteps(steps: readonly Step[]): readonly TransitionStep[] {
  return steps.flatMap((step): readonly TransitionStep[] =>
    step.type === 'transition' ? [step] : stepsInside(step).flatMap((inner) => transitionSteps(inner)),
  );
}

function stepsInside(step: Step): readonly (readonly Step[])[] {
  if ('branches' in step) return step.branches;
  if ('cases' in step) return [...step.cases.map(({ body }) => body), step.default ?? []];
  if (!('body' in step)) return [];
  return 'catch' in step || 'finally' in step
    ? [step.body, step.catch ?? [], step.finally ?? []]
    : [step.body];
}
