import { asText } from '../../../expressions/values.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { isMap } from '../plain-values.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

/** Transitions to missing states, states that cannot be reached, and states that cannot be left. */
export function checkStates(workflow: DocumentNode, lists: readonly StepList[]): readonly Issue[] {
  if (workflow.at('states').value === undefined) return checkNoMachine(lists);
  if (!isMap(workflow.at('states').value)) return []; // Anything else would only follow from that.
  const states = readStates(workflow, lists);
  const names = states.map(({ name }) => name);
  const initial = workflow.at('initial');
  const froms = workflow
    .at('transitions')
    .items()
    .flatMap((each) => [each.at('from'), ...each.at('from').items()]);
  const targets = states.flatMap(({ node, chosen }) => [
    ...node
      .at('transitions')
      .items()
      .map((each) => each.at('to')),
    ...chosen,
  ]);
  const globals = workflow
    .at('transitions')
    .items()
    .map((each) => each.at('to'));
  const unknown = [initial, ...targets, ...globals, ...froms.filter((from) => from.text() !== '*')].flatMap(
    (place) => checkTarget(place, names),
  );
  // If a name does not resolve, unreachable states only follow from that.
  if (unknown.length > 0) return unknown;
  const whole = states.filter(({ node }) => !isGarbled(node));
  return [
    ...(whole.length < states.length ? [] : checkReachable(initial.text(), states)),
    ...whole.flatMap(checkLeaving),
  ];
}

const STATE_KEYS: readonly string[] = ['description', 'steps', 'transitions', 'final'];

/** Whether its transitions may be there under another name or in another form, which is an error of its own. */
const isGarbled = (node: DocumentNode): boolean =>
  !isMap(node.value) ||
  node.entries().some(([key]) => !STATE_KEYS.includes(key)) ||
  (node.has('final') && typeof node.at('final').value !== 'boolean') ||
  (node.has('transitions') && !Array.isArray(node.at('transitions').value));

function checkNoMachine(lists: readonly StepList[]): readonly Issue[] {
  return lists
    .flatMap(({ steps }) => steps)
    .filter((step) => step.at('type').value === 'transition')
    .map((step) =>
      errorAt(
        step.at('type'),
        'no_states',
        'A transition step chooses a state, but this workflow has no states.',
        { hint: 'Use "states" instead of "steps", or a switch step.' },
      ),
    );
}

function checkTarget(place: DocumentNode, names: readonly string[]): readonly Issue[] {
  const name = place.text();
  if (name === undefined || names.includes(name)) return [];
  return [
    errorAt(place, 'unknown_state', `There is no state "${name}".`, {
      hint: () => suggest(name, names, 'States'),
    }),
  ];
}

function checkReachable(initial: string | undefined, states: readonly State[]): readonly Issue[] {
  const byName = new Map(states.map((state) => [state.name, state]));
  if (initial === undefined || !byName.has(initial)) return [];
  const reached = new Set<string>();
  const waiting = [initial];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const state = byName.get(name);
    if (state === undefined || reached.has(name)) continue;
    reached.add(name);
    if (state.open) return [];
    if (state.node.at('final').value === true) continue;
    const targets = [...state.transitions.map(({ to }) => to), ...state.chosen];
    waiting.push(...targets.flatMap((to) => to.text() ?? []));
  }
  return states
    .filter(({ name }) => !reached.has(name))
    .map(({ name, node }) =>
      errorAt(node, 'unreachable_state', `The state "${name}" cannot be reached from "${initial}".`, {
        hint: 'Add a transition to this state, or remove it.',
        at: 'key',
      }),
    );
}

function checkLeaving({ name, node, transitions, decides }: State): readonly Issue[] {
  const own = node.at('transitions').items();
  if (node.at('final').value === true)
    return own.length === 0
      ? []
      : [
          warningAt(
            node.at('transitions'),
            'no_effect',
            `The state "${name}" is final, so its transitions are never used.`,
            { hint: 'Remove "final" or the transitions.', at: 'key' },
          ),
        ];
  const after = own.findIndex(({ at }) => isAlways(at('condition')));
  const dead = after < 0 ? undefined : own[after + 1];
  const unreachable =
    dead === undefined
      ? []
      : [
          warningAt(
            dead,
            'no_effect',
            'This transition is never used, because the one before it has no condition.',
            {
              hint: 'Put the transition without a condition last.',
            },
          ),
        ];
  if (decides) return unreachable;
  if (transitions.length === 0)
    return [
      errorAt(node, 'dead_end', `The state "${name}" is not final, and has no transitions.`, {
        hint: 'Add "transitions" or "final: true".',
        at: 'key',
      }),
    ];
  if (transitions.every(({ condition }) => isNever(condition)))
    return [
      errorAt(
        node,
        'dead_end',
        `The state "${name}" is not final, and none of its transitions can be taken.`,
        {
          hint: 'Add a transition without a condition.',
          at: 'key',
        },
      ),
    ];
  if (isExhaustive(transitions)) return unreachable;
  return [
    ...unreachable,
    warningAt(
      node,
      'may_stall',
      `Every transition of the state "${name}" has a condition. If none is true, the run fails.`,
      { hint: 'End the list with a transition that has no condition.', at: 'key' },
    ),
  ];
}

const isAlways = (condition: DocumentNode) =>
  condition.value === undefined || condition.value === true || condition.text()?.trim() === 'true';
const isNever = (condition: DocumentNode) =>
  condition.value === false || condition.text()?.trim() === 'false';

/** Whether one transition has no condition, or one is the plain opposite of another. */
function isExhaustive(transitions: readonly StatesTransition[]): boolean {
  if (transitions.some(({ condition }) => isAlways(condition))) return true;
  const plain = transitions.map(({ condition }) => inner((condition.text() ?? '').replaceAll(/\s+/g, '')));
  return plain.some((source) => {
    const opposite = negated(source);
    return opposite !== undefined && plain.includes(opposite);
  });
}

/** What a test negates as a whole: `x` for `!x`, `a && b` for `!(a && b)`. Nothing for `!a && b`. */
function negated(source: string): string | undefined {
  if (!source.startsWith('!')) return undefined;
  const rest = source.slice(1);
  return inner(rest) !== rest || TERM.test(rest) ? inner(rest) : undefined;
}

/** Names, members and calls, without an operator between them. */
const TERM = /^[\w.]+(?:\([^()]*\))?$/;

/** The text without the parentheses that enclose all of it. */
function inner(source: string): string {
  if (!source.startsWith('(')) return source;
  let depth = 0;
  for (let at = 0; at < source.length; at++) {
    if (source[at] === '(') depth++;
    else if (source[at] === ')' && --depth === 0)
      return at === source.length - 1 ? source.slice(1, -1) : source;
  }
  return source;
}

export interface StatesTransition {
  readonly to: DocumentNode;
  readonly condition: DocumentNode;
}

export interface State {
  readonly name: string;
  readonly node: DocumentNode;
  /** Its own transitions, then the workflow's transitions that leave it. */
  readonly transitions: readonly StatesTransition[];
  /** The states that its transition steps may choose. */
  readonly chosen: readonly DocumentNode[];
  /** Whether a transition step decides where it goes. */
  readonly decides: boolean;
  /** Whether an artifact decides, so that any state may come next. */
  readonly open: boolean;
}

/** The states of a machine, each with everything that may lead out of it. */
export function readStates(workflow: DocumentNode, lists: readonly StepList[]): readonly State[] {
  const globals = workflow.at('transitions').items();
  return workflow
    .at('states')
    .entries()
    .map(([name, node]) => {
      const steps = lists.filter(({ state }) => state === name).flatMap((list) => list.steps);
      const deciding = steps.filter((step) => step.at('type').value === 'transition');
      const leaving = globals.filter((each) => {
        const from = each.at('from').value;
        return from === '*' || from === name || (Array.isArray(from) && from.includes(name));
      });
      return {
        name,
        node,
        transitions: [...node.at('transitions').items(), ...leaving].map((each) => ({
          to: each.at('to'),
          condition: each.at('condition'),
        })),
        chosen: deciding.flatMap((step) => [
          ...step
            .at('transition_map')
            .entries()
            .map(([, to]) => to),
          ...fallbackState(step),
        ]),
        decides: deciding.length > 0,
        open: deciding.some((step) => step.has('transition_source') && !step.has('transition_map')),
      };
    });
}

/** The fallback of a deciding artifact. It names a state, unless it is one of the answers of a map. */
function fallbackState(step: DocumentNode): readonly DocumentNode[] {
  const fallback = step.at('transition_source').at('fallback');
  const map = step.at('transition_map');
  if (fallback.value === undefined || map.value === undefined) return [fallback];
  const text = asText(fallback.value);
  return map.has(text) ? [] : [{ ...fallback, text: () => text }];
}

/** The maximum nesting of steps. */
export const MAX_STEP_DEPTH = 12;
export const MAX_STEPS = 1_000;

/** Steps in one list, which may name each other in `needs` and `goto`. */
export interface StepList {
  readonly steps: readonly DocumentNode[];
  /** The state that they belong to, in a state machine. */
  readonly state: string | undefined;
  /** How many steps surround them. */
  readonly depth: number;
  /** The names of the items of the `foreach` steps around them, and `error` in the `catch` of a `try`. */
  readonly items: readonly string[];
  /** The step that contains them. */
  readonly around?: StatesAround;
}

export interface StatesAround {
  readonly list: StepList;
  /** The step's index in that list. */
  readonly index: number;
  /** Which of the step's lists it is, counted over all of them: body, branches or cases, default, catch, finally. */
  readonly part: number;
}

/** Every list of steps in a workflow, outer lists first. */
export function stepLists(workflow: DocumentNode): readonly StepList[] {
  const lists: StepList[] = [];
  collect({ steps: workflow.at('steps').items(), state: undefined, depth: 0, items: [] }, lists);
  for (const [state, node] of workflow.at('states').entries())
    collect({ steps: node.at('steps').items(), state, depth: 0, items: [] }, lists);
  return lists;
}

function collect(list: StepList, into: StepList[]): void {
  if (list.steps.length === 0) return;
  into.push(list);
  for (const [index, step] of list.steps.entries()) {
    const outer =
      step.at('type').value === 'foreach' ? [...list.items, step.at('as').text() ?? 'item'] : list.items;
    const inside = { state: list.state, depth: list.depth + 1 };
    for (const [part, { steps, items }] of listsInside(step, outer).entries())
      collect({ ...inside, steps, items, around: { list, index, part } }, into);
  }
}

/** In the order in which they run, if they run one after another. `catch` sees one more name. */
function listsInside(step: DocumentNode, items: readonly string[]): readonly Inside[] {
  const under = (key: string) => ({ steps: step.at(key).items(), items });
  return [
    under('body'),
    ...step
      .at('branches')
      .items()
      .map((branch) => ({ steps: Array.isArray(branch.value) ? branch.items() : [branch], items })),
    ...step
      .at('cases')
      .items()
      .map((each) => ({ steps: each.at('body').items(), items })),
    under('default'),
    { ...under('catch'), items: [...items, 'error'] },
    under('finally'),
  ];
}

type Inside = Pick<StepList, 'steps' | 'items'>;

export const stepName = (step: DocumentNode): string | undefined => step.at('name').text();

export const stepNames = (lists: readonly StepList[]): readonly string[] => [
  ...new Set(lists.flatMap(({ steps }) => steps.flatMap((step) => stepName(step) ?? []))),
];
