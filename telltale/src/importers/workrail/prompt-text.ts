import { bullets, paragraphs, section } from '../values.ts';
import type {
  Assessment,
  FunctionDefinition,
  PromptBlocks,
  PromptValue,
  TaskStep,
} from './workflow-schema.ts';

/** Texts that WorkRail has by id, in our words. A prompt that refers to one gets the text itself. */
const REFS: Readonly<Record<string, string>> = {
  'wr.refs.memory_usage':
    'If you have a memory that outlives this task, look into it first, and store there what will be useful later. If it fails, go on without it.',
  'wr.refs.memory_store':
    'If you have a memory that outlives this task, store there what this step found: the files, the decisions and the reasons. If it fails, go on without it.',
  'wr.refs.memory_query':
    'If you have a memory that outlives this task, ask it what is already known. If it fails, go on without it.',
  'wr.refs.notes_first_durability':
    'Only the notes that complete a step and the variables that it sets are kept. Write every finding and every decision there, with its reason. Files for people to read are an extra, never the only place.',
  'wr.refs.synthesis_under_disagreement':
    'If results of parallel work contradict each other, settle it openly. A finding of two of them counts. Of two severities the higher one counts, unless there is evidence against it. A finding of only one is checked first. Note for each contradiction how you settled it, and why.',
  'wr.refs.parallelize_cognition_serialize_synthesis':
    'Let independent thinking happen in parallel, each part with its own focus. Bring the results together yourself, one after the other. Nobody you delegate to decides on the final answer.',
  'wr.refs.adversarial_challenge_rules':
    'Try to break the leading answer. Make the strongest case for another one, ask what would disprove each finding, and look for it. What breaks is a finding and changes the answer. Rate severity by risk, neither softer nor harsher.',
};

/** What each feature adds to the steps with prompt blocks. */
export const FEATURES: Readonly<Record<string, readonly string[]>> = {
  'wr.features.memory_context': [REFS['wr.refs.memory_usage'] ?? ''],
  'wr.features.capabilities': [
    'Rely on an optional ability (delegation, the web, …) only after you have tried it here. If one is missing, say so and find another way.',
    'Where you depend on such an ability, note how you tried it. Where you do without it, note why that is enough.',
    'Before you finish, check that every optional ability you used was tried, and that every workaround is in the notes.',
  ],
  'wr.features.subagent_guidance': [
    'You own the strategy, the decisions and the final result. Whoever you delegate to only gives you another view.',
    REFS['wr.refs.parallelize_cognition_serialize_synthesis'] ?? '',
    'Give each of them a focus of its own and the same facts.',
    'Before you finish, check that you judged each of their results yourself.',
  ],
};

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

type AssessmentConsequences = NonNullable<TaskStep['assessmentConsequences']>;

/** Tells a second model how to judge a step. Undefined if the step asks for nothing beyond being done. */
export function judgeInstructions(
  assessments: readonly Assessment[],
  consequences: AssessmentConsequences,
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

function consequenceText({ when, effect }: AssessmentConsequences[number]): string {
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
