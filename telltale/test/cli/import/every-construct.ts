import type { JsonObject } from '../../../src/lib/json.ts';

/** The head of a workflow of WorkRail's. */
export const workrail = (steps: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  id: 'my-flow',
  name: 'My flow',
  description: 'Does what it is for.',
  version: '1.0.0',
  ...more,
  steps,
});

/** A step with a prompt. */
export const step = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  title: `About ${id}`,
  prompt: `Do ${id}.`,
  ...more,
});

/** A loop with these steps in it. */
export const loop = (
  id: string,
  config: JsonObject,
  body: readonly JsonObject[] | string,
  more: JsonObject = {},
): JsonObject => ({
  id,
  type: 'loop',
  title: `About ${id}`,
  loop: { maxIterations: 5, ...config },
  body,
  ...more,
});

/** A file that holds every key of WorkRail's schema, and some of older versions. */
export const everyConstruct: JsonObject = workrail(
  [
    {
      id: '0-plan',
      title: 'Plan {{topic}}',
      promptBlocks: {
        goal: 'Find a way, for ${HOME} and {{topic}}.',
        constraints: [
          'Be brief.',
          [
            { kind: 'text', text: 'Mind this: ' },
            { kind: 'ref', refId: 'wr.refs.notes_first_durability' },
          ],
        ],
        procedure: ['Look.', 'Think.'],
        outputRequired: { plan: 'What will be done.' },
        verify: ['It can be done.', [{ kind: 'ref', refId: 'wr.refs.of_tomorrow' }]],
      },
      agentRole: 'You are a planner of long experience.',
      modelTier: 'heavy',
      guidance: [
        'Ask {{wr.bindings.reviewer}}.',
        'Set context variables:\n- `planName`\n- `planSize`: how large it is',
      ],
      askForFiles: true,
      hasValidation: true,
      notesOptional: true,
      functionReferences: ['sum()', 'lost()'],
      functionDefinitions: [{ name: 'local', definition: 'Stays here.', scope: 'step' }],
      functionCalls: [{ name: 'local', args: { a: 1 } }],
      promptFragments: [
        { id: 'always', text: 'Always this.' },
        { id: 'quick', when: { var: 'mode', equals: 'QUICK' }, text: 'Be quick about {{topic}}.' },
      ],
      validationCriteria: [
        { type: 'contains', value: 'plan', message: 'Name the plan.' },
        {
          type: 'regex',
          pattern: '^I\\b',
          flags: 'm',
          message: 'Speak for yourself.',
          condition: { var: 'mode', not_equals: 'QUICK' },
        },
        { type: 'length', min: 60, message: 'Say more.' },
      ],
      outputContract: { contractRef: 'wr.contracts.coding_handoff' },
      requireConfirmation: true,
      audit: { rubric: ['Is it whole?'], delegate: 'somebody' },
    },
    step('routine', { templateCall: { templateId: 'wr.templates.routine.deep-look', args: { depth: 3 } } }),
    step('checked', {
      runCondition: { var: 'planSize', gt: 0 },
      assessmentRefs: ['gate'],
      assessmentConsequences: [
        {
          when: { anyEqualsLevel: 'low', forAssessment: 'gate' },
          effect: { kind: 'require_followup', guidance: 'Look again.' },
        },
      ],
      validationCriteria: {
        or: [
          { type: 'contains', value: 'a', message: 'An a.' },
          { not: { type: 'regex', pattern: 'x', message: 'An x.' } },
        ],
      },
      requireConfirmation: { var: 'planSize', gte: 10 },
      verification: { command: 'npm test', prompt: 'See that it is green.' },
    }),
    step('proved', {
      verification: { command: 'true' },
      requireConfirmation: { kind: 'human_approval' },
    }),
    step('judged', {
      requireConfirmation: { kind: 'coordinator_eval' },
      verification: { prompt: 'Try it out.' },
    }),
    {
      id: 'side-by-side',
      type: 'parallel',
      title: 'Ask around',
      runCondition: { not: { var: 'alone' } },
      parallelDelegations: [
        {
          workflowId: 'wr.routine-one',
          goal: 'The first.',
          args: { focus: 'breadth' },
          contextMapping: { topic: 'subject' },
          allowedTools: ['Read'],
          modelTier: 'mid',
        },
        { workflowId: 'wr.routine-two', runCondition: { var: 'families', contains: 'second' } },
      ],
      synthesis: {
        prompt: 'Bring it together.',
        outputContract: { contractRef: 'wr.contracts.review_verdict' },
      },
      requireConfirmation: false,
      notesOptional: false,
    },
    loop('until-good', { type: 'until', condition: { var: 'good', equals: true }, iterationVar: 'pass' }, [
      step('try-it', { prompt: 'Pass {{pass}}.' }),
      step('look-at-it'),
    ]),
    loop(
      'again',
      {
        type: 'while',
        conditionSource: {
          kind: 'artifact_contract',
          contractRef: 'wr.contracts.loop_control',
          loopId: 'again_loop',
        },
      },
      [
        step('work'),
        step('decide', { outputContract: { contractRef: 'wr.contracts.loop_control' } }),
        step('tidy'),
      ],
    ),
    loop('three-times', { type: 'for', count: 3 }, 'count-up', {
      requireConfirmation: true,
      functionDefinitions: [{ name: 'sum', definition: 'Another sum.' }],
    }),
    step('count-up', { functionReferences: ['sum()'] }),
    loop('for-each', { type: 'forEach', items: 'parts', itemVar: 'part', indexVar: 'at', maxIterations: 2 }, [
      step('do-part', { prompt: 'Part {{at}}: {{part.name}}.' }),
    ]),
  ],
  {
    id: 'wr.every-construct',
    modelTier: 'mid',
    preconditions: ['There is a file.'],
    clarificationPrompts: ['Which one?'],
    metaGuidance: ['Be careful.'],
    functionDefinitions: [
      {
        name: 'sum',
        definition: 'Adds.',
        parameters: [
          { name: 'a', type: 'number' },
          { name: 'b', type: 'number', required: false },
        ],
      },
    ],
    recommendedPreferences: { recommendedAutonomy: 'guided', recommendedRiskPolicy: 'conservative' },
    features: ['wr.features.capabilities', 'wr.features.of_tomorrow'],
    assessments: [
      {
        id: 'gate',
        purpose: 'Whether it is ready.',
        dimensions: [{ id: 'confidence', purpose: 'How sure it is.', levels: ['low', 'high'] }],
      },
    ],
    extensionPoints: [{ slotId: 'reviewer', purpose: 'Who reviews.', default: 'routine-review' }],
    references: [
      { id: 'style', title: 'Style', source: 'docs/style.md', purpose: 'How to write.', authoritative: true },
      {
        id: 'spec',
        title: 'Spec',
        source: 'spec/spec.md',
        purpose: 'What counts.',
        authoritative: false,
        resolveFrom: 'package',
      },
    ],
    validatedAgainstSpecVersion: 3,
    about: 'For long days.\n\nAnd short ones.',
    examples: ['Plan the week that comes next'],
    metricsProfile: 'coding',
    changelog: ['first'],
  },
);

/** The routine that it calls. */
export const routine: JsonObject = workrail(
  [
    step('look', {
      title: 'Look {depth} deep',
      prompt: 'Look {depth} levels deep, {{topic}} and {unknown} and { "json": 1 }.',
    }),
    step('note-it'),
  ],
  { id: 'wr.routine-deep-look', metaGuidance: ['Touch nothing.'] },
);
