import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { PathSegment } from '../../../expressions/issue.ts';
import { parseTemplate } from '../../../expressions/templates/parse-template.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { readStates, type State, type StepList, stepName } from './check-states.ts';
import { templatesOf } from './check-workflow-names.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

/** One `steps.NAME.output` or `steps.NAME.error`. */
interface ReadingOrderRead {
  readonly place: DocumentNode;
  readonly offset: number;
  readonly name: string;
  readonly part: string;
  /** Whether `??` or `has()` provides an alternative. */
  readonly isOptional: boolean;
}

/** The reader: a step, or a transition when its state has ended. */
interface ReadingOrderReader {
  readonly shown: string;
  orderOf(step: ReadingOrderPlacedStep): ReadingOrder;
}

/** Compensations run after the run, and hooks are called while nested steps may have ended. */
const READ_LATER: ReadonlySet<string> = new Set(['compensate', 'hooks']);

/** Outputs that are read where they can never exist, or where nothing guarantees them. */
export function checkReadingOrder(workflow: DocumentNode, lists: readonly StepList[]): readonly Issue[] {
  const states = readStates(workflow, lists);
  const order = createStepOrder(states);
  const placed = lists.flatMap((list) =>
    list.steps.map((_step, index): ReadingOrderPlacedStep => ({ list, index })),
  );
  const byName = new Map<string, ReadingOrderPlacedStep | undefined>();
  for (const each of placed) {
    const name = stepName(stepAt(each));
    // If two steps have the same name, which is an error of its own, either may be meant.
    if (name !== undefined) byName.set(name, byName.has(name) ? undefined : each);
  }
  const check = (reads: readonly ReadingOrderRead[], reader: ReadingOrderReader) =>
    reads.flatMap((read) => {
      const step = byName.get(read.name);
      return step === undefined ? [] : issueOf(read, reader, reader.orderOf(step), byName);
    });
  return [
    ...placed.flatMap((each) => checkStep(each, order, check)),
    ...checkTransitions(workflow, states, order, check),
  ];
}

const stepAt = ({ list, index }: ReadingOrderPlacedStep): DocumentNode => list.steps[index]!;

type ReadingOrderCheck = (reads: readonly ReadingOrderRead[], reader: ReadingOrderReader) => readonly Issue[];

function checkStep(
  placed: ReadingOrderPlacedStep,
  order: StepOrder,
  check: ReadingOrderCheck,
): readonly Issue[] {
  const step = stepAt(placed);
  const name = stepName(step);
  const at = (between: boolean): ReadingOrderReader => ({
    shown: `the step "${name}"`,
    orderOf: (read) => order.of(read, placed, between),
  });
  const isLoop = step.at('type').value === 'loop';
  const inside = ['cases', 'fragments'].flatMap((key) =>
    step
      .at(key)
      .items()
      .map((each) => each.at('if')),
  );
  return [
    ...check([step.at('if'), step.at('condition'), ...inside].flatMap(readsOfTest), at(false)),
    ...(isLoop ? check([step.at('while'), step.at('until')].flatMap(readsOfTest), at(true)) : []),
    ...templatesOf(step)
      // A verifier's command line resolves nothing, which is reported elsewhere.
      .filter(({ key }) => !READ_LATER.has(key) && !(key === 'verify' && step.at(key).has('command')))
      .flatMap(({ key, text, place }) =>
        check(
          readsOfText(text, place, placed.list.items),
          at(isLoop && (key === 'while' || key === 'until')),
        ),
      ),
  ];
}

/** A transition out of several states is correct if it is correct after one of them. */
function checkTransitions(
  workflow: DocumentNode,
  states: readonly State[],
  order: StepOrder,
  check: ReadingOrderCheck,
): readonly Issue[] {
  const all = states.map(({ name }) => name);
  const own = states.flatMap(({ name, node }) =>
    node
      .at('transitions')
      .items()
      .map((each) => ({ each, from: [name] })),
  );
  const global = workflow
    .at('transitions')
    .items()
    .map((each) => {
      const from = [each.at('from'), ...each.at('from').items()].flatMap((place) => place.text() ?? []);
      return { each, from: from.every((name) => all.includes(name)) ? from : all };
    });
  return [...own, ...global].flatMap(({ each, from }) =>
    check(readsOfTest(each.at('condition')), {
      shown: from.length === 1 ? `the state "${from[0]}"` : 'the transition',
      orderOf: (read) => order.atEndOf(read, from),
    }),
  );
}

function readsOfTest(place: DocumentNode): readonly ReadingOrderRead[] {
  const parsed = parseExpression(place.text() ?? '');
  if (!parsed.ok) return [];
  const isOptional = /\bhas\s*\(/.test(parsed.value.source);
  return parsed.value.names.flatMap(({ root, path, offset }) =>
    readOf(place, root, path, offset, isOptional),
  );
}

function readsOfText(
  text: string,
  place: DocumentNode,
  names: readonly string[],
): readonly ReadingOrderRead[] {
  const parsed = parseTemplate(text, { names });
  if (!parsed.ok) return [];
  return parsed.value.pieces.flatMap((piece) => {
    if (piece.kind !== 'reference') return [];
    const { otherwise, offset } = piece;
    const others = otherwise.flatMap((other) => (other.kind === 'reference' ? [other] : []));
    return [piece, ...others].flatMap(({ root, path }) =>
      readOf(place, root, path, offset, otherwise.length > 0),
    );
  });
}

/** Every step has a `status`, even before it starts. */
function readOf(
  place: DocumentNode,
  root: string,
  [name, part]: readonly PathSegment[],
  offset: number,
  isOptional: boolean,
): readonly ReadingOrderRead[] {
  if (root !== 'steps' || typeof name !== 'string' || (part !== 'output' && part !== 'error')) return [];
  return [{ place, offset, name, part, isOptional }];
}

function issueOf(
  { place, offset, name, part, isOptional }: ReadingOrderRead,
  reader: ReadingOrderReader,
  order: ReadingOrder,
  steps: ReadonlyMap<string, ReadingOrderPlacedStep | undefined>,
): readonly Issue[] {
  const what = `"steps.${name}.${part}"`;
  switch (order.kind) {
    case 'possible':
      return [];
    case 'never': {
      const message = `${what} is never available when ${reader.shown} reads it: ${whyNever(name, order.why)}.`;
      const hint = () => {
        const known = [...steps].flatMap(([each, step]) =>
          step !== undefined && reader.orderOf(step).kind === 'possible' ? [each] : [],
        );
        return known.length === 0
          ? 'No step has finished by then.'
          : suggest(name, known, 'Steps that can have finished by then');
      };
      const at = isOptional ? warningAt : errorAt;
      return [at(place, 'read_too_early', message, { hint, offset })];
    }
    case 'unordered': {
      if (isOptional) return [];
      const { one, other } = order;
      const message = `${what} may not be available when ${reader.shown} reads it, because "${one}" and "${other}" run in any order.`;
      const first =
        order.by === 'needs'
          ? `Add "${one}" to the "needs" of "${other}"`
          : 'Put the steps into one branch, one after the other';
      const hint = `${first}, or write a fallback ("??", or has() in CEL).`;
      return [warningAt(place, 'read_unordered', message, { hint, offset })];
    }
  }
}

function whyNever(name: string, why: Extract<ReadingOrder, { readonly kind: 'never' }>['why']): string {
  switch (why) {
    case 'itself':
      return 'a step has a result only after it has finished';
    case 'around':
      return `it is inside "${name}", which has not finished by then`;
    case 'inside':
      return `"${name}" is inside it and has not started by then`;
    case 'later':
      return `"${name}" always comes later`;
    case 'other_case':
      return `"${name}" belongs to another case, and only one case runs`;
  }
}

/** A step by its position. */
export interface ReadingOrderPlacedStep {
  readonly list: StepList;
  readonly index: number;
}

/** Whether a step can have ended when another one starts: it can; it cannot, and why; or nothing orders the two. */
export type ReadingOrder =
  | { readonly kind: 'possible' }
  | { readonly kind: 'never'; readonly why: 'itself' | 'around' | 'inside' | 'later' | 'other_case' }
  /** Steps of a graph, or of branches, that run at the same time. */
  | {
      readonly kind: 'unordered';
      readonly by: 'needs' | 'branches';
      readonly one: string;
      readonly other: string;
    };

export interface StepOrder {
  /** `between`: evaluated between the rounds of the reading step, when its nested steps may have ended. */
  of(read: ReadingOrderPlacedStep, by: ReadingOrderPlacedStep, between?: boolean): ReadingOrder;
  /** The same at the end of one of these states. */
  atEndOf(read: ReadingOrderPlacedStep, states: readonly string[]): ReadingOrder;
}

const POSSIBLE: ReadingOrder = { kind: 'possible' };
const LATER: ReadingOrder = { kind: 'never', why: 'later' };

/** If anything can run a step again (rounds, retries, jumps back, states), everything there is possible. */
function createStepOrder(states: readonly State[]): StepOrder {
  const reach = createReach(states);
  const known = new Map<StepList, ListOrder>();
  const orderIn = (list: StepList): ListOrder => {
    const order = known.get(list) ?? listOrder(list);
    known.set(list, order);
    return order;
  };

  const inOneList = (list: StepList, read: number, by: number): ReadingOrder => {
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
function wayTo({ list, index }: ReadingOrderPlacedStep): readonly ReadingOrderPlacedStep[] {
  const way: ReadingOrderPlacedStep[] = [{ list, index }];
  for (let { around } = list; around !== undefined; around = around.list.around) way.unshift(around);
  return way;
}

const hasRounds = (step: DocumentNode) =>
  step.at('type').value === 'loop' || step.at('type').value === 'foreach' || step.has('retry');

/** For steps in two different lists of one step. */
function inTwoParts(step: DocumentNode, read: StepList, by: StepList): ReadingOrder {
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

/** The order within one list. It is computed once and used often. */
interface ListOrder {
  readonly isGraph: boolean;
  /** Whether a failure leads back to before both steps. */
  isRepeated(one: number, other: number): boolean;
  /** Everything that has ended when a step of a graph starts. */
  needsOf(index: number): ReadonlySet<number>;
}

/** A jump back in a list, from a step to an earlier one, or to itself. */
interface Jump {
  readonly from: number;
  readonly to: number;
}

/** Overlapping jumps lead as far back as one jump over their union. */
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

/** Whether a state machine that was in one state can be in another one, or the same one again, later. */
function createReach(states: readonly State[]) {
  const names = states.map(({ name }) => name);
  const next = new Map(states.map((state) => [state.name, nextStates(state, names)]));
  const reached = new Map<string, ReadonlySet<string>>();
  return (from: string | undefined, to: string | undefined): boolean => {
    if (from === undefined || to === undefined) return true; // A workflow with both "steps" and "states" has an error of its own.
    const known = reached.get(from) ?? closure(next.get(from) ?? names, (name) => next.get(name) ?? names);
    reached.set(from, known);
    return known.has(to);
  };
}

/** All states if an artifact decides, or if a name does not resolve, which is an error of its own. */
function nextStates({ node, transitions, chosen, open }: State, names: readonly string[]): readonly string[] {
  if (node.at('final').value === true) return [];
  const to = [...transitions.map((each) => each.to), ...chosen].flatMap((place) => place.text() ?? []);
  return open || to.some((name) => !names.includes(name)) ? names : to;
}

/** Everything that can be reached in one or more steps. */
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
