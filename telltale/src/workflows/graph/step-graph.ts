import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Exit, GraphBuilder } from './graph-builder.ts';
import { stepLines, testText } from './step-text.ts';

/** A step, or several, as the rest of the graph sees it: where it is entered, and the ways out of it. */
export interface Part {
  readonly entries: readonly string[];
  readonly exits: readonly Exit[];
}

type Composite = Extract<
  Step,
  { readonly type: 'parallel' | 'race' | 'foreach' | 'loop' | 'switch' | 'try' }
>;

/** Draws a list of steps: in order, or by `needs` where one of them has it. */
export function drawSteps(steps: readonly Step[], into: GraphBuilder, group: string | undefined): Part {
  const parts = new Map(steps.map((step) => [step.name, drawStep(step, into, group)]));
  const part = steps.some(({ needs }) => needs !== undefined)
    ? byNeeds(steps, parts, into)
    : inOrder([...parts.values()], into);
  for (const { name, on_error } of steps) {
    if (typeof on_error !== 'object') continue;
    const target = parts.get(on_error.goto)?.entries[0];
    const [from] = parts.get(name)?.entries ?? [];
    if (target !== undefined && from !== undefined) into.edge({ from, label: 'fails' }, target, 'error');
  }
  return part;
}

function inOrder(parts: readonly Part[], into: GraphBuilder): Part {
  for (const [index, part] of parts.entries()) if (index > 0) join(parts[index - 1], part, into);
  return { entries: parts[0]?.entries ?? [], exits: parts.at(-1)?.exits ?? [] };
}

function byNeeds(steps: readonly Step[], parts: ReadonlyMap<string, Part>, into: GraphBuilder): Part {
  const needed = new Set(steps.flatMap(({ needs = [] }) => needs));
  for (const { name, needs = [] } of steps)
    for (const before of needs) join(parts.get(before), parts.get(name), into);
  const first = steps.filter(({ needs = [] }) => needs.length === 0);
  const last = steps.filter(({ name }) => !needed.has(name));
  return {
    entries: first.flatMap(({ name }) => parts.get(name)?.entries ?? []),
    exits: last.flatMap(({ name }) => parts.get(name)?.exits ?? []),
  };
}

function join(before: Part | undefined, after: Part | undefined, into: GraphBuilder): void {
  for (const exit of before?.exits ?? []) for (const entry of after?.entries ?? []) into.edge(exit, entry);
}

const isComposite = (step: Step): step is Composite =>
  'branches' in step || 'body' in step || 'cases' in step;

function drawStep(step: Step, into: GraphBuilder, group: string | undefined): Part {
  if (isComposite(step)) return drawComposite(step, into, group);
  const id = into.node('step', step.name, stepLines(step), group);
  return { entries: [id], exits: [{ from: id }] };
}

function drawComposite(step: Composite, into: GraphBuilder, outer: string | undefined): Part {
  const group = into.group(step.name, step.type, outer);
  const split = into.node('split', step.type, stepLines(step), group);
  const draw = (steps: readonly Step[], label?: string): readonly Exit[] => {
    const { entries, exits } = drawSteps(steps, into, group);
    for (const entry of entries) into.edge({ from: split, ...(label === undefined ? {} : { label }) }, entry);
    return exits;
  };
  return { entries: [split], exits: insideOf(step, split, draw, into, group) };
}

function insideOf(
  step: Composite,
  split: string,
  draw: (steps: readonly Step[], label?: string) => readonly Exit[],
  into: GraphBuilder,
  group: string,
): readonly Exit[] {
  switch (step.type) {
    case 'parallel':
    case 'race':
      return step.branches.flatMap((branch) => draw(branch));
    case 'foreach':
      return draw(step.body);
    case 'loop': {
      const isWhile = step.while !== undefined;
      const test = testText(step.while ?? step.until ?? true);
      const ends = draw(step.body, isWhile ? `while ${test}` : undefined);
      for (const { from } of ends) into.edge({ from, label: 'again' }, split, 'back');
      return isWhile ? [{ from: split, label: 'else' }] : ends.map(({ from }) => ({ from, label: test }));
    }
    case 'switch': {
      const ends = step.cases.flatMap((each) => draw(each.body, testText(each.if)));
      const otherwise =
        step.default === undefined ? [{ from: split, label: 'else' }] : draw(step.default, 'else');
      return [...ends, ...otherwise];
    }
    case 'try': {
      const tried = draw(step.body);
      const caught = step.catch === undefined ? undefined : drawSteps(step.catch, into, group);
      for (const entry of caught?.entries ?? []) into.edge({ from: split, label: 'fails' }, entry, 'error');
      const ends = [...tried, ...(caught?.exits ?? [])];
      if (step.finally === undefined) return ends;
      const last = drawSteps(step.finally, into, group);
      for (const { from } of ends)
        for (const entry of last.entries) into.edge({ from, label: 'finally' }, entry);
      return last.exits;
    }
  }
}
