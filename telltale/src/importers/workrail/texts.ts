import type { JsonObject } from '../../lib/json.ts';
import type { Assessment, FunctionDefinition, PromptBlocks, PromptValue, TaskStep } from './shape.ts';

/** Parts of a prompt under their headings; empty ones are left out. */
export const sections = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');

export const section = (heading: string, lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `## ${heading}\n${lines.join('\n')}`;

export const bullets = (items: readonly string[]): readonly string[] => items.map((item) => `- ${item}`);

/** Prompt blocks in WorkRail's order. `unknown` hears of texts that are referred to and not known. */
export function blocksText(blocks: PromptBlocks, unknown: (ref: string) => void): string {
  const say = (value: PromptValue) => valueText(value, unknown);
  const { goal, constraints = [], procedure = [], outputRequired = {}, verify = [] } = blocks;
  return sections([
    goal === undefined ? undefined : section('Goal', [say(goal)]),
    section('Constraints', bullets(constraints.map(say))),
    section(
      'Procedure',
      procedure.map((value, index) => `${index + 1}. ${say(value)}`),
    ),
    section(
      'Output required',
      Object.entries(outputRequired).map(([key, value]) => `- **${key}**: ${value}`),
    ),
    section('Verify', bullets(verify.map(say))),
  ]);
}

function valueText(value: PromptValue, unknown: (ref: string) => void): string {
  if (typeof value === 'string') return value;
  return value
    .map(({ kind, text = '', refId = '' }) => {
      if (kind === 'text') return text;
      const known = Object.hasOwn(REFS, refId) ? REFS[refId] : undefined;
      if (known === undefined) unknown(refId);
      return known ?? `(${refId})`;
    })
    .join('');
}

/** What functions mean that a prompt speaks of. */
export const functionsText = (functions: readonly FunctionDefinition[]): string | undefined =>
  section(
    'Functions this step speaks of',
    functions.map(({ name, parameters = [], definition }) => {
      const taken = parameters.map(
        (each) => `${each.name}${each.required === false ? '?' : ''}: ${each.type}`,
      );
      return `- \`${name}(${taken.join(', ')})\`: ${definition}`;
    }),
  );

type Consequences = NonNullable<TaskStep['assessmentConsequences']>;

const dimensionLines = ({ dimensions }: Assessment): readonly string[] =>
  dimensions.map(
    ({ id, levels, purpose, required }) =>
      `- ${id} (${levels.join(' | ')})${required === false ? ', where it applies' : ''}: ${purpose}`,
  );

/** What the agent is told of how its step will be judged. */
export const judgedBy = (assessments: readonly Assessment[]): string | undefined =>
  section('How this step is judged', [
    'Say in your notes which level you give each of these, and what it rests on; somebody else judges it, too.',
    ...assessments.flatMap((each) => [`${each.purpose}`, ...dimensionLines(each)]),
  ]);

/** What a second model judges by: the levels of each dimension, and what follows from them. */
export function judgeInstructions(
  assessments: readonly Assessment[],
  consequences: Consequences,
  rules: readonly string[],
): string {
  return sections([
    'Judge the step by these dimensions. Give each one of its levels, from what was done and what the notes bear out; a level that the notes only claim does not count.',
    ...assessments.map((each) => `${each.purpose}\n${dimensionLines(each).join('\n')}`),
    consequences.length === 0
      ? 'Pass the step once every dimension can be given a level. Else let it be done again, and name what is missing.'
      : consequences.map(consequenceText).join('\n'),
    rules.length === 0 ? undefined : `The notes must also meet this:\n${bullets(rules).join('\n')}`,
    consequences.length === 0
      ? undefined
      : 'Pass the step where none of that is the case. Where it cannot be told, escalate.',
  ]);
}

const consequenceText = ({ when, effect }: Consequences[number]): string => {
  const { anyEqualsLevel, forAssessment, dimensionId, equalsLevel } = when;
  const whose = forAssessment === undefined ? '' : ` of "${forAssessment}"`;
  const which = dimensionId === undefined ? 'a dimension' : `the dimension "${dimensionId}"`;
  return `Where ${which}${whose} is at the level "${anyEqualsLevel ?? equalsLevel}", let it be done again, with this: ${effect.guidance}`;
};

/** For a gate that WorkRail leaves to a model. */
export const GATE_INSTRUCTIONS =
  'Judge whether the result of this step may be built upon: whether it does what was asked for, is borne out by what was done, and leaves nothing open that it should have settled. Let it be done again where the agent can mend it; escalate where a person has to decide.';

/** Texts that WorkRail has by id, in words of our own: what a prompt refers to has to stand in it. */
const REFS: Readonly<Record<string, string>> = {
  'wr.refs.memory_usage':
    'Where you have a memory that outlives this task, look into it first and put down what will be of use later. Go on without it where it fails.',
  'wr.refs.memory_store':
    'Where you have a memory that outlives this task, keep what this step has found there: the files, what was decided, and why. Go on where that fails.',
  'wr.refs.memory_query':
    'Where you have a memory that outlives this task, look there for what is known of it already. Go on where that fails.',
  'wr.refs.notes_first_durability':
    'The notes that complete a step, and the variables that it sets, are what lasts: put every finding and every decision there, with its reason. Files for people to read are an extra, never the only place.',
  'wr.refs.synthesis_under_disagreement':
    'Where results of parallel work contradict each other, settle it openly. What two of them raise counts. Of two severities the higher one counts, unless there is evidence against it. What only one raises is looked into, not adopted. Note for each contradiction how it was settled and why.',
  'wr.refs.parallelize_cognition_serialize_synthesis':
    'Let independent thinking happen side by side, each part with a focus of its own; bring the results together yourself, one after the other. Nobody you hand work to decides on the final answer.',
  'wr.refs.adversarial_challenge_rules':
    'Try to break the leading answer: make the strongest case for another one, ask what would disprove each finding, and look whether that is there. What breaks is put down as a finding and changes the answer; what holds is the stronger for it. Rate severity by risk, neither softer nor harsher.',
};

interface FeatureText {
  readonly constraints?: readonly string[];
  readonly procedure?: readonly string[];
  readonly verify?: readonly string[];
}

/** What a feature adds to every step with prompt blocks. */
export const FEATURES: Readonly<Record<string, FeatureText>> = {
  'wr.features.memory_context': { constraints: [REFS['wr.refs.memory_usage'] ?? ''] },
  'wr.features.capabilities': {
    constraints: [
      'Rely on an optional ability (handing work to others, the web, …) only after you have tried it here.',
      'Where one is missing, say so and go another way.',
    ],
    procedure: [
      'Note what you tried where you depend on such an ability, and why going without is enough where you do not use it.',
    ],
    verify: ['Every optional ability that was used had been tried, and every way round one is written down.'],
  },
  'wr.features.subagent_guidance': {
    constraints: [
      'You own strategy, decisions and the final result; whoever you hand work to gives you another view, and nothing more.',
      REFS['wr.refs.parallelize_cognition_serialize_synthesis'] ?? '',
    ],
    procedure: [
      'Give each one a focus of its own and the same facts; bring their results together yourself.',
    ],
    verify: ['No result of theirs was taken over without your judgement.'],
  },
};

export const LOOP_CONTROL = 'wr.contracts.loop_control';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const confidence = { enum: ['high', 'medium', 'low'] };

const object = (properties: JsonObject, optional: readonly string[] = []): JsonObject => ({
  type: 'object',
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  properties,
});

/** What WorkRail's contracts ask for, without the tags that tell artifacts apart. */
const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  assessment: object({ assessmentId: text, dimensions: { type: 'object' }, summary: { type: 'string' } }, [
    'assessmentId',
    'summary',
  ]),
  coordinator_signal: object(
    {
      signalKind: { enum: ['progress', 'finding', 'data_needed', 'approval_needed', 'blocked'] },
      payload: { type: 'object' },
      sessionId: { type: 'string' },
    },
    ['sessionId'],
  ),
  review_verdict: object({
    verdict: { enum: ['clean', 'minor', 'blocking'] },
    confidence,
    findings: {
      type: 'array',
      items: object(
        {
          severity: { enum: ['critical', 'major', 'minor', 'nit'] },
          summary: text,
          findingCategory: {
            enum: ['correctness', 'security', 'architecture', 'ux', 'performance', 'testing', 'style'],
          },
        },
        ['findingCategory'],
      ),
    },
    summary: text,
  }),
  discovery_handoff: object(
    {
      selectedDirection: text,
      designDocPath: { type: 'string' },
      confidenceBand: confidence,
      keyInvariants: texts,
      rejectedDirections: { type: 'array', items: object({ direction: text, reason: text }) },
      implementationConstraints: texts,
      keyCodebaseLocations: { type: 'array', items: object({ path: text, relevance: text }) },
      selectionTier: { enum: ['strong_recommendation', 'provisional_recommendation', 'insufficient_signal'] },
    },
    ['rejectedDirections', 'implementationConstraints', 'keyCodebaseLocations', 'selectionTier'],
  ),
  shaping_handoff: object({
    pitchPath: text,
    selectedShape: text,
    appetite: text,
    keyConstraints: texts,
    rabbitHoles: texts,
    outOfScope: texts,
    validationChecklist: texts,
  }),
  coding_handoff: object(
    {
      branchName: text,
      keyDecisions: texts,
      knownLimitations: texts,
      testsAdded: texts,
      filesChanged: texts,
      correctedAssumptions: { type: 'array', items: object({ assumed: text, actual: text }) },
    },
    ['branchName', 'correctedAssumptions'],
  ),
  gate_verdict: object({
    verdict: { enum: ['approved', 'rejected', 'uncertain'] },
    confidence,
    rationale: { type: 'string', minLength: 20 },
  }),
  differentiation_handoff: object({
    evidenceFreshness: { type: 'object' },
    validationChecklist: texts,
    shapingHandoff: { type: 'object' },
  }),
};

interface Contract {
  /** The key of `context_updates`. */
  readonly key: string;
  /** What WorkRail calls the artifact. */
  readonly kind: string;
  readonly schema: JsonObject;
  readonly isKnown: boolean;
}

/** A contract by its reference; one that is not known asks for an object of any form. */
export function contractOf(ref: string): Contract {
  const last = ref.split('.').at(-1) ?? ref;
  const schema = Object.hasOwn(SCHEMAS, last) && ref === `wr.contracts.${last}` ? SCHEMAS[last] : undefined;
  const key = last.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
  return {
    key: key === '' ? 'result' : key,
    kind: `wr.${last}`,
    schema: schema ?? { type: 'object' },
    isKnown: schema !== undefined,
  };
}

/** What the agent is told of a contract; `schema` where it need not be met. */
export const outputText = (name: string, kind: string, schema: JsonObject | undefined): string => {
  const give = schema === undefined ? 'Give' : 'You may give';
  const like = schema === undefined ? '' : `, as JSON like ${JSON.stringify(schema)}`;
  return `## To complete this step\n${give} \`${name}\` in \`context_updates\`${like}. Where an artifact of the kind \`${kind}\` is spoken of, this is what is meant; its \`kind\` and \`version\` are left out.`;
};

export const decisionText = (key: string): string =>
  `## To complete this step\nGive \`${key}\` in \`context_updates\`: \`"continue"\` for another round, \`"stop"\` to end them. Where an artifact of the kind \`wr.loop_control\` is spoken of, this is what is meant.`;

export const AS_ASKED = 'Was all that the step asks for really done, as the actions and their results show?';
export const HAND_OUT =
  'Have the parts below done side by side, each by an agent of its own with nothing but what stands here; do them one after the other where you have nobody to give them to. Wait for all of them. Where no part follows, there is nothing to do: say so.';
export const SYNTHESIS =
  'Bring the results of the parallel work together into one: settle what contradicts itself, and say how.';

export const verificationTexts = ({ command, prompt }: NonNullable<TaskStep['verification']>) => [
  prompt,
  command === undefined ? undefined : `Run this, and see that it succeeds:\n\`\`\`\n${command}\n\`\`\``,
  prompt === undefined && command === undefined
    ? 'Run what checks this work (tests, the build, a linter), and see that all of it succeeds.'
    : undefined,
];

export const auditTexts = ({ prompt, rubric }: NonNullable<TaskStep['audit']>, title: string) => [
  prompt ?? `Look through what "${title}" has brought: whether it is whole, right and good enough.`,
  rubric === undefined ? undefined : `Judge it by this:\n${bullets(rubric).join('\n')}`,
  'Say whether it stands, and fix what does not.',
];
