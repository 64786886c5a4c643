import { bullets, paragraphs, section } from '../values.ts';
import { REFS } from './builtins.ts';
import type {
  Assessment,
  FunctionDefinition,
  PromptBlocks,
  PromptValue,
  TaskStep,
} from './workflow-schema.ts';

/** Prompt blocks in WorkRail's order. `unknown` is called with references that have no text. */
export function blocksText(blocks: PromptBlocks, unknown: (ref: string) => void): string | undefined {
  const textOf = (value: PromptValue): string => {
    if (typeof value === 'string') return value;
    const texts = value.map(({ kind, text = '', refId = '' }) => {
      if (kind === 'text') return text;
      if (!Object.hasOwn(REFS, refId)) unknown(refId);
      return REFS[refId] ?? `(${refId})`;
    });
    return texts.join('');
  };
  const { goal, constraints = [], procedure = [], outputRequired = {}, verify = [] } = blocks;
  const steps = procedure.map((value, index) => `${index + 1}. ${textOf(value)}`);
  const outputs = Object.entries(outputRequired).map(([key, value]) => `- **${key}**: ${value}`);
  return paragraphs(
    section('Goal', goal === undefined ? [] : [textOf(goal)]),
    section('Constraints', bullets(constraints.map(textOf))),
    section('Procedure', steps),
    section('Output required', outputs),
    section('Verify', bullets(verify.map(textOf))),
  );
}

/** The definitions of functions that a prompt mentions. */
export const functionsText = (functions: readonly FunctionDefinition[]): string | undefined =>
  section(
    'Functions in this step',
    functions.map(({ name, parameters = [], definition }) => {
      const list = parameters.map(
        (each) => `${each.name}${each.required === false ? '?' : ''}: ${each.type}`,
      );
      return `- \`${name}(${list.join(', ')})\`: ${definition}`;
    }),
  );

const assessmentText = ({ purpose, dimensions }: Assessment): string => {
  const lines = dimensions.map(({ id, levels, purpose: about, required }) => {
    const where = required === false ? ', where it applies' : '';
    return `- ${id} (${levels.join(' | ')})${where}: ${about}`;
  });
  return [purpose, ...lines].join('\n');
};

/** Tells the agent how its step will be judged. */
export const judgedBy = (assessments: readonly Assessment[]): string | undefined =>
  assessments.length === 0
    ? undefined
    : section('How this step is judged', [
        'Another model also judges this step. Say in your notes which level you give each of these, and why.',
        ...assessments.map(assessmentText),
      ]);

type Consequences = NonNullable<TaskStep['assessmentConsequences']>;

/** Tells a second model how to judge a step. Undefined if the step asks for nothing beyond being done. */
export function judgeInstructions(
  assessments: readonly Assessment[],
  consequences: Consequences,
  rules: readonly string[],
): string | undefined {
  if (assessments.length === 0 && rules.length === 0) return undefined;
  if (assessments.length === 0)
    return `Was everything done that the step asks for? The notes must meet this:\n${bullets(rules).join('\n')}`;
  return paragraphs(
    'Judge the step by these dimensions. Give each of them one of its levels, by what was done and what the notes prove. A mere claim in the notes does not count.',
    ...assessments.map(assessmentText),
    rules.length === 0 ? undefined : `The notes must also meet this:\n${bullets(rules).join('\n')}`,
    consequences.map(consequenceText).join('\n'),
    consequences.length === 0
      ? 'Pass the step if every dimension can be given a level. Otherwise ask for another try, and name what is missing.'
      : 'Otherwise pass the step. If you cannot tell, escalate.',
  );
}

function consequenceText({ when, effect }: Consequences[number]): string {
  const { anyEqualsLevel, forAssessment, dimensionId, equalsLevel } = when;
  const whose = forAssessment === undefined ? '' : ` of "${forAssessment}"`;
  const which = dimensionId === undefined ? 'a dimension' : `the dimension "${dimensionId}"`;
  return `If ${which}${whose} is at the level "${anyEqualsLevel ?? equalsLevel}", ask for another try, with this guidance: ${effect.guidance}`;
}

/** Tells the agent about a contract. With `schema`, the output is optional. */
export function outputText(name: string, kind: string, schema: object | undefined): string {
  const give = schema === undefined ? 'Give' : 'You may give';
  const like = schema === undefined ? '' : `, as JSON like ${JSON.stringify(schema)}`;
  return `## To complete this step\n${give} \`${name}\` in \`context_updates\`${like}. It takes the place of an artifact of the kind \`${kind}\`, without its \`kind\` and \`version\`.`;
}

export const decisionText = (key: string): string =>
  `## To complete this step\nGive \`${key}\` in \`context_updates\`: \`"continue"\` for another round, \`"stop"\` to end the loop. It takes the place of an artifact of the kind \`wr.loop_control\`.`;

export const GATE_INSTRUCTIONS =
  'Judge whether later work can build on the result of this step: it does what was asked, the record proves it, and nothing is left open that the step should have settled. Ask for another try if the agent can fix it. Escalate if a person has to decide.';
export const HAND_OUT =
  'Have the parts below done in parallel, each by an agent of its own that knows only what is written here. If you have nobody to delegate to, do them one after the other. Wait for all of them. If no part follows, there is nothing to do: say so.';

/** What each model tier means, for an agent that delegates. */
export const TIERS = {
  lightweight: 'a small and fast one',
  mid: 'one of medium ability',
  heavy: 'the most capable one',
};

export const SYNTHESIS =
  'Bring the results of the parallel work together. Settle contradictions, and say how.';

export const verificationTexts = ({ command, prompt }: NonNullable<TaskStep['verification']>) => [
  prompt ??
    (command === undefined
      ? 'Run what checks this work (tests, the build, a linter), and fix what fails.'
      : ''),
  command === undefined ? '' : `Run this, and check that it succeeds:\n\`\`\`\n${command}\n\`\`\``,
];

export const auditTexts = ({ prompt, rubric = [] }: NonNullable<TaskStep['audit']>, title: string) => [
  prompt ?? `Review the result of "${title}": is it complete, correct and good enough?`,
  rubric.length === 0 ? undefined : `Judge it by this:\n${bullets(rubric).join('\n')}`,
  'Say whether it is acceptable, and fix what is not.',
];
