import { parseExpression } from '../../../conditions/cel/parse-expression.ts';
import { type Comparison, readComparisons } from '../../../conditions/cel/read-comparisons.ts';
import type { PathSegment } from '../../../conditions/issue.ts';
import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { templatesOf } from './check-workflow-names.ts';
import { type DocumentNode, warningAt } from './document-node.ts';
import { stepName } from './workflow-steps.ts';

/** What a step of a type whose result is always alike results in. */
interface Output {
  readonly members: readonly string[];
  /** Of an approval. */
  readonly choices?: readonly string[];
}

const DEFAULT_OPTIONS = ['approve', 'reject'];
const STEP_TESTS = ['if', 'condition', 'while', 'until'];

/**
 * What is read of the results of approvals and programs, which are always alike: a member that they do not have, and
 * comparisons that never hold. Warnings: `has()` and `??` may say what counts instead.
 */
export function checkStepOutputs(
  steps: readonly DocumentNode[],
  conditions: readonly DocumentNode[],
): readonly Issue[] {
  const outputs = new Map(
    steps.flatMap((step) => {
      const [name, output] = [stepName(step), outputOf(step)];
      return name === undefined || output === undefined ? [] : [[name, output] as const];
    }),
  );
  if (outputs.size === 0) return [];
  const cases = steps.flatMap((step) => step.at('cases').items());
  const tests = [
    ...conditions,
    ...steps.flatMap((step) => STEP_TESTS.map((key) => step.at(key))),
    ...cases.map((each) => each.at('if')),
  ];
  return [
    ...tests.flatMap((place) => checkTest(place, outputs)),
    ...steps.flatMap(templatesOf).flatMap(({ text, place }) => {
      const parsed = parseTemplate(text);
      if (!parsed.ok) return [];
      return parsed.value.pieces.flatMap((piece) =>
        piece.kind === 'reference' ? checkMember(place, piece, outputs) : [],
      );
    }),
  ];
}

function outputOf(step: DocumentNode): Output | undefined {
  switch (step.at('type').value) {
    case 'approval': {
      const options = step.at('options').items();
      const choices = options.length === 0 ? DEFAULT_OPTIONS : options.flatMap((each) => each.text() ?? []);
      return { members: ['choice', 'by', 'note'], choices };
    }
    case 'script':
      return step.has('command') ? { members: ['exit_code', 'stdout', 'stderr'] } : undefined;
    default:
      return undefined;
  }
}

type Outputs = ReadonlyMap<string, Output>;

interface Read {
  readonly root: string;
  readonly path: readonly PathSegment[];
  readonly offset: number;
}

/** `steps.NAME.output.MEMBER`: the step's result, and the member. */
function read({ root, path: [name, part, member] }: Read, outputs: Outputs) {
  const output = root === 'steps' && part === 'output' ? outputs.get(String(name)) : undefined;
  return output === undefined || typeof member !== 'string' ? undefined : { output, name, member };
}

function checkMember(place: DocumentNode, use: Read, outputs: Outputs): readonly Issue[] {
  const found = read(use, outputs);
  if (found === undefined || found.output.members.includes(found.member)) return [];
  const { name, member, output } = found;
  const hint = () => suggest(member, output.members, 'It has');
  return [
    warningAt(place, 'unknown_field', `The result of the step "${name}" has no "${member}".`, {
      hint,
      offset: use.offset,
    }),
  ];
}

function checkTest(place: DocumentNode, outputs: Outputs): readonly Issue[] {
  const source = place.text() ?? '';
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  return [
    ...parsed.value.names.flatMap((use) => checkMember(place, use, outputs)),
    ...readComparisons(source).flatMap((comparison) => checkComparison(place, comparison, outputs)),
  ];
}

function checkComparison(
  place: DocumentNode,
  { name: use, operator, value }: Comparison,
  outputs: Outputs,
): readonly Issue[] {
  const found = read(use, outputs);
  if (found === undefined) return [];
  const { name, member, output } = found;
  const { offset } = use;
  if (member === 'exit_code' && value === 0 && ['!=', '>', '<'].includes(operator)) {
    const message = `"exit_code" of the step "${name}" is always 0 here, because a program that exits with another code fails its step.`;
    const hint = `Add "on_error: continue" to the step, and check whether steps.${name}.status is "failed".`;
    return [warningAt(place, 'never_matches', message, { hint, offset })];
  }
  const { choices } = output;
  if (member !== 'choice' || choices === undefined) return [];
  if (typeof value !== 'string' || choices.includes(value)) return [];
  const message = `The step "${name}" cannot have the answer ${JSON.stringify(value)}.`;
  return [
    warningAt(place, 'never_matches', message, { hint: () => suggest(value, choices, 'Answers'), offset }),
  ];
}
