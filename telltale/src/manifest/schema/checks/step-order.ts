import type { DocumentNode } from './document-node.ts';
import type { State } from './read-states.ts';
import { type StepList, stepName } from './workflow-steps.ts';

/** A step by its place. */
export interface PlacedStep {
  readonly list: StepList;
  readonly index: number;
}

/**
 * Whether a step can have ended when another one begins: it can; it cannot, and why; or nothing says which of the two
 * is first.
 */
export type Order =
  | { readonly kind: 'possible' }
  | { readonly kind: 'never'; readonly why: 'itself' | 'around' | 'inside' | 'later' | 'other_case' }
  /** The steps of the graph, or of the branches, that run side by side. */
  | {
      readonly kind: 'unordered';
      readonly by: 'needs' | 'branches';
      readonly one: string;
      readonly other: string;
    };

export interface StepOrder {
  /** `between`: asked between the rounds of the reading step, when what is inside of it may have ended. */
  of(read: PlacedStep, by: PlacedStep, between?: boolean): Order;
  /** The same at the end of one of these states. */
  atEndOf(read: PlacedStep, states: readonly string[]): Order;
}

const POSSIBLE: Order = { kind: 'possible' };
const LATER: Order = { kind: 'never', why: 'later' };

/** Where anything can bring a step about again (rounds, tries, jumps back, states), everything there is possible. */
export function createStepOrder(states: readonly State[]): StepOrder {
  const reach = createReach(states);
  const known = new Map<StepList, ListOrder>();
  const orderIn = (list: StepList): ListOrder => {
    const order = known.get(list) ?? listOrder(list);
    known.set(list, order);
    return order;
  };

  const inOneList = (list: StepList, read: number, by: number): Order => {
    const { isGraph, isRepeated, needsOf } = orderIn(list);
    if (isRepeated(read, by)) return POSSIBLE;
    if (!isGraph) return read < by ? POSSIBLE : LATER;
    if (needsOf(by).has(read)) return POSSIBLE;
    if (needsOf(read).has(by)) return LATER;
    return { kind: 'unordered', by: 'needs', one: nameAt(list, read), other: nameAt(list, by) };
  };

  return {
    of(read, by, between = false) {
      const [theirs, ours] = [wayTo(read), wayTo(by)];
      const [first, own] = [theirs[0]!, ours[0]!];
      if (first.list !== own.list) return reach(first.list.state, own.list.state) ? POSSIBLE : LATER;
      if (own.list.state !== undefined && reach(own.list.state, own.list.state)) return POSSIBLE;
      for (let level = 0; ; level++) {
        const [a, b] = [theirs[level]!, ours[level]!];
        if (a.index !== b.index) return inOneList(a.list, a.index, b.index);
        const [inner, mine] = [theirs[level + 1], ours[level + 1]];
        const step = a.list.steps[a.index]!;
        if (orderIn(a.list).isRepeated(a.index, a.index)) return POSSIBLE;
        if (inner === undefined) return { kind: 'never', why: mine === undefined ? 'itself' : 'around' };
        if (mine === undefined) return between ? POSSIBLE : { kind: 'never', why: 'inside' };
        if (hasRounds(step)) return POSSIBLE;
        if (inner.list !== mine.list) return inTwoParts(step, inner.list, mine.list);
      }
    },
    atEndOf: ({ list }, ends) =>
      ends.some((state) => list.state === state || reach(list.state, state)) ? POSSIBLE : LATER,
  };
}

/** From the outermost list to the step itself. */
function wayTo({ list, index }: PlacedStep): readonly PlacedStep[] {
  const way: PlacedStep[] = [{ list, index }];
  for (let { around } = list; around !== undefined; around = around.list.around) way.unshift(around);
  return way;
}

const hasRounds = (step: DocumentNode) =>
  step.at('type').value === 'loop' || step.at('type').value === 'foreach' || step.has('retry');

/** Steps of two lists of one step. */
function inTwoParts(step: DocumentNode, read: StepList, by: StepList): Order {
  const isEarlier = (read.around?.part ?? 0) < (by.around?.part ?? 0);
  switch (step.at('type').value) {
    case 'try':
      return isEarlier ? POSSIBLE : LATER;
    case 'switch':
      return { kind: 'never', why: 'other_case' };
    case 'parallel':
    case 'race': {
      if (step.at('max_parallel').value === 1) return isEarlier ? POSSIBLE : LATER;
      return { kind: 'unordered', by: 'branches', one: nameAt(read, 0), other: nameAt(by, 0) };
    }
    default:
      return POSSIBLE;
  }
}

const nameAt = ({ steps }: StepList, index: number): string => {
  const step = steps[index];
  return (step && stepName(step)) ?? '';
};

/** What is asked of one list again and again. */
interface ListOrder {
  readonly isGraph: boolean;
  /** Whether a failure leads back to before both steps. */
  isRepeated(one: number, other: number): boolean;
  /** All that has ended when a step of a graph begins. */
  needsOf(index: number): ReadonlySet<number>;
}

/** A way back in a list, from a step to one before it, or to itself. */
interface Jump {
  readonly from: number;
  readonly to: number;
}

/** One jump leads to where another can follow: those that overlap lead as far back together as one would. */
function joined(jumps: readonly Jump[]): readonly Jump[] {
  const all: Jump[] = [];
  for (const jump of jumps.toSorted((a, b) => a.to - b.to)) {
    const last = all.at(-1);
    if (last === undefined || jump.to > last.from) all.push(jump);
    else all[all.length - 1] = { from: Math.max(last.from, jump.from), to: last.to };
  }
  return all;
}

function listOrder({ steps }: StepList): ListOrder {
  const isGraph = steps.some((step) => step.has('needs'));
  const places = new Map(steps.map((step, index) => [stepName(step), index]));
  const placeOf = (name: string | undefined) => (name === undefined ? undefined : places.get(name));
  const jumps = steps.flatMap((step, from) => {
    const to = placeOf(/^goto +(\S+)$/.exec(step.at('on_error').text() ?? '')?.[1]);
    return to === undefined || to > from || isGraph ? [] : [{ from, to }];
  });
  const circles = joined(jumps);
  const direct = steps.map((step) =>
    step
      .at('needs')
      .items()
      .flatMap((need) => placeOf(need.text()) ?? []),
  );
  const all = new Map<number, ReadonlySet<number>>();
  return {
    isGraph,
    isRepeated: (one, other) =>
      circles.some(({ from, to }) => to <= Math.min(one, other) && Math.max(one, other) <= from),
    needsOf(index) {
      const needed = all.get(index) ?? closure(direct[index] ?? [], (next) => direct[next] ?? []);
      all.set(index, needed);
      return needed;
    },
  };
}

/** Whether a machine that was in one state can be in another, or the same again, later. */
function createReach(states: readonly State[]) {
  const names = states.map(({ name }) => name);
  const next = new Map(states.map((state) => [state.name, nextStates(state, names)]));
  const reached = new Map<string, ReadonlySet<string>>();
  return (from: string | undefined, to: string | undefined): boolean => {
    if (from === undefined || to === undefined) return true; // both "steps" and "states": an error of its own
    const known = reached.get(from) ?? closure(next.get(from) ?? names, (name) => next.get(name) ?? names);
    reached.set(from, known);
    return known.has(to);
  };
}

/** All of them where an artifact decides, or where a name leads nowhere, which is another error. */
function nextStates({ node, transitions, chosen, open }: State, names: readonly string[]): readonly string[] {
  if (node.at('final').value === true) return [];
  const to = [...transitions.map((each) => each.to), ...chosen].flatMap((place) => place.text() ?? []);
  return open || to.some((name) => !names.includes(name)) ? names : to;
}

/** What can be come to in one step or more. */
function closure<T>(first: readonly T[], next: (of: T) => readonly T[]): ReadonlySet<T> {
  const found = new Set<T>();
  const waiting = [...first];
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    if (found.has(each)) continue;
    found.add(each);
    waiting.push(...next(each));
  }
  return found;
}
