import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import type { PathSegment } from '../../../conditions/issue.ts';
import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { templatesOf } from './check-workflow-names.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';
import { readStates, type State } from './read-states.ts';
import { createStepOrder, type Order, type PlacedStep, type StepOrder } from './step-order.ts';
import { type StepList, stepName } from './workflow-steps.ts';

/** One `steps.NAME.output` or `steps.NAME.error`. */
interface Read {
  readonly place: DocumentNode;
  readonly offset: number;
  readonly name: string;
  readonly part: string;
  /** `??` or `has()` says what counts where it is not there. */
  readonly isOptional: boolean;
}

/** Who reads: a step, or a transition when its state has ended. */
interface Reader {
  readonly shown: string;
  orderOf(step: PlacedStep): Order;
}

/** Undone is when the run is over, and hooks are called while steps inside may have ended. */
const READ_LATER: ReadonlySet<string> = new Set(['compensate', 'hooks']);

/** Results that are read where they can never be there, or where nothing says that they are. */
export function checkReadingOrder(workflow: DocumentNode, lists: readonly StepList[]): readonly Issue[] {
  const states = readStates(workflow, lists);
  const order = createStepOrder(states);
  const placed = lists.flatMap((list) => list.steps.map((_step, index): PlacedStep => ({ list, index })));
  const byName = new Map<string, PlacedStep | undefined>();
  for (const each of placed) {
    const name = stepName(stepAt(each));
    // Of two steps of one name, which is another error, either may be meant.
    if (name !== undefined) byName.set(name, byName.has(name) ? undefined : each);
  }
  const check = (reads: readonly Read[], reader: Reader) =>
    reads.flatMap((read) => {
      const step = byName.get(read.name);
      return step === undefined ? [] : issueOf(read, reader, reader.orderOf(step), byName);
    });
  return [
    ...placed.flatMap((each) => checkStep(each, order, check)),
    ...checkTransitions(workflow, states, order, check),
  ];
}

const stepAt = ({ list, index }: PlacedStep): DocumentNode => list.steps[index]!;

type Check = (reads: readonly Read[], reader: Reader) => readonly Issue[];

function checkStep(placed: PlacedStep, order: StepOrder, check: Check): readonly Issue[] {
  const step = stepAt(placed);
  const name = stepName(step);
  const at = (between: boolean): Reader => ({
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
      // In the command line of a verifier nothing is resolved, which is said of it elsewhere.
      .filter(({ key }) => !READ_LATER.has(key) && !(key === 'verify' && step.at(key).has('command')))
      .flatMap(({ key, text, place }) =>
        check(
          readsOfText(text, place, placed.list.items),
          at(isLoop && (key === 'while' || key === 'until')),
        ),
      ),
  ];
}

/** A transition that leaves several states reads rightly where it does after one of them. */
function checkTransitions(
  workflow: DocumentNode,
  states: readonly State[],
  order: StepOrder,
  check: Check,
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

function readsOfTest(place: DocumentNode): readonly Read[] {
  const parsed = parseExpression(place.text() ?? '');
  if (!parsed.ok) return [];
  const isOptional = /\bhas\s*\(/.test(parsed.value.source);
  return parsed.value.names.flatMap(({ root, path, offset }) =>
    readOf(place, root, path, offset, isOptional),
  );
}

function readsOfText(text: string, place: DocumentNode, names: readonly string[]): readonly Read[] {
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

/** Every step has a `status`, whether it has begun or not. */
function readOf(
  place: DocumentNode,
  root: string,
  [name, part]: readonly PathSegment[],
  offset: number,
  isOptional: boolean,
): readonly Read[] {
  if (root !== 'steps' || typeof name !== 'string' || (part !== 'output' && part !== 'error')) return [];
  return [{ place, offset, name, part, isOptional }];
}

function issueOf(
  { place, offset, name, part, isOptional }: Read,
  reader: Reader,
  order: Order,
  steps: ReadonlyMap<string, PlacedStep | undefined>,
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

function whyNever(name: string, why: Extract<Order, { readonly kind: 'never' }>['why']): string {
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
