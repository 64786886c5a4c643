import { type Comparison, readComparisons } from '../../../expressions/cel/check-expression.ts';
import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { PathSegment } from '../../../expressions/issue.ts';
import { parseTemplate } from '../../../expressions/templates/parse-template.ts';
import { suggest } from '../../../lib/nearest.ts';
import type { Issue } from '../../diagnostic.ts';
import { checkVerifyCommand } from './check-hooks.ts';
import { stepName } from './check-states.ts';
import { APPROVAL_DECIDES, checkGuards, type DeclaredVariable, RESERVED } from './check-variables.ts';
import { templatesOf } from './check-workflow-names.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

/** The checks of `complete_step`: what it writes, who verifies it, and what must not depend on it. */
export function checkTasks(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
): readonly Issue[] {
  const written = writtenByTasks(steps, variables);
  const approvals = steps
    .filter((step) => step.at('type').value === 'approval')
    .flatMap((step) => APPROVAL_DECIDES.map((key) => step.at(key)));
  const verifiers = steps.map((step) => step.at('verify'));
  return [
    ...checkRequiredKeys(steps, variables),
    ...verifiers.flatMap(checkVerifyCommand),
    ...checkGuards(approvals, 'an approval', written),
    ...checkGuards(verifiers, 'a verifier', written),
  ];
}

/**
 * The variables that steps require in `context_updates`, with their positions in the manifest. The working agent writes
 * them.
 */
export const requiredKeys = (
  steps: readonly DocumentNode[],
): readonly { readonly name: string; readonly place: DocumentNode; readonly step: string }[] =>
  steps
    .filter((step) => step.at('type').value === 'task')
    .flatMap((step) =>
      step
        .at('requires')
        .entries()
        .map(([name, place]) => ({ name, place, step: stepName(step) ?? '?' })),
    );

/** Variables without a declaration in a manifest. Declared ones are judged by their writers. */
function writtenByTasks(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
): ReadonlyMap<string, string> {
  const declared = new Set(variables.map(({ name }) => name));
  return new Map(
    requiredKeys(steps)
      .filter(({ name }) => !declared.has(name))
      .map(({ name, step }) => [name, `the agent that works on the step "${step}" writes it`] as const),
  );
}

/**
 * A task cannot require a variable that a model may not write. `agent` owns the variables if they are not the
 * workflow's own.
 */
export function checkRequiredKeys(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
  agent?: string,
): readonly Issue[] {
  const named = new Map(variables.map((each) => [each.name, each]));
  const whose = agent === undefined ? '' : ` of the agent "${agent}"`;
  return requiredKeys(steps).flatMap(({ name, place }) => {
    if (RESERVED.includes(name) && agent === undefined)
      return [
        errorAt(place, 'reserved_name', `A task cannot require "${name}".`, {
          hint: `These names are reserved in conditions: ${RESERVED.join(', ')}.`,
          at: 'key',
        }),
      ];
    const variable = named.get(name);
    const why = variable === undefined ? undefined : whyNot(variable);
    if (why === undefined) return [];
    const message = `A task cannot require "${name}": the variable${whose} of that name ${why}.`;
    return [
      errorAt(place, 'not_writable', message, {
        hint: 'Require another key, or add "model" to the "writers" of the variable.',
        at: 'key',
      }),
    ];
  });
}

function whyNot({ class: kind, node }: DeclaredVariable): string | undefined {
  if (kind === 'derived') return 'is derived, so nobody can set it';
  const writers = node.at('writers');
  if (writers.value === undefined) return undefined;
  const may = writers.items().map((writer) => writer.text());
  return may.includes('model') ? undefined : 'cannot be written by the model';
}

/** The output of a step whose type always has the same kind of output. */
interface TasksOutput {
  readonly members: readonly string[];
  /** For an approval. */
  readonly choices?: readonly string[];
}

const DEFAULT_OPTIONS = ['approve', 'reject'];
const STEP_TESTS = ['if', 'condition', 'while', 'until'];

/**
 * Checks how the outputs of approvals and programs are read: a member that they never have, and comparisons that never
 * hold. These are warnings, because `has()` and `??` may provide an alternative.
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

function outputOf(step: DocumentNode): TasksOutput | undefined {
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

type Outputs = ReadonlyMap<string, TasksOutput>;

interface TasksRead {
  readonly root: string;
  readonly path: readonly PathSegment[];
  readonly offset: number;
}

/** `steps.NAME.output.MEMBER`: the step's output, and the member. */
function read({ root, path: [name, part, member] }: TasksRead, outputs: Outputs) {
  const output = root === 'steps' && part === 'output' ? outputs.get(String(name)) : undefined;
  return output === undefined || typeof member !== 'string' ? undefined : { output, name, member };
}

function checkMember(place: DocumentNode, use: TasksRead, outputs: Outputs): readonly Issue[] {
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
