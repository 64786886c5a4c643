import type { DocumentNode } from './document-node.ts';

/** Steps inside steps inside steps: deeper than this no reader follows. */
export const MAX_STEP_DEPTH = 12;
export const MAX_STEPS = 1_000;

/** Steps that stand in one list and may name each other in `needs` and `goto`. */
export interface StepList {
  readonly steps: readonly DocumentNode[];
  /** The state they belong to, in a machine. */
  readonly state: string | undefined;
  /** How many steps they stand in. */
  readonly depth: number;
  /** The names of the items of the `foreach` steps around them; in the `catch` of a `try`, `error`. */
  readonly items: readonly string[];
  /** The step that they stand in. */
  readonly around?: Around;
}

export interface Around {
  readonly list: StepList;
  /** The step's place in that list. */
  readonly index: number;
  /** Which of the step's lists it is, counted over all of them: body, branches or cases, default, catch, finally. */
  readonly part: number;
}

/** Every list of steps in a workflow, outer before inner. */
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

/** In the order in which they come, where one comes after the other. `catch` sees a name more. */
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
