import { z } from 'zod';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { flag } from '../../manifest/schema/numbers.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { condition, confirmation } from './shape-condition.ts';
import { criteria } from './shape-criteria.ts';
import { loopConfig } from './shape-loop.ts';

const texts = (description: string) => z.array(text('An entry.')).describe(description);
const anything = () =>
  z.record(
    z.string(),
    z.custom<Json>(() => true),
  );
const tier = () => z.enum(['lightweight', 'mid', 'heavy']).optional();

const stepId = () =>
  z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .min(3)
    .register(z.globalRegistry, {
      description: 'The id of the step.',
      expects: 'at least three lower-case letters, digits and "-"',
    });

const part = closed(
  { title: 'a part of a prompt' },
  { kind: z.enum(['text', 'ref']), text: text('The text.').optional(), refId: text('The id.').optional() },
);
const parts = z.array(part);
const words = text('The text.');
const promptValue = choice([words, parts], (value) => (Array.isArray(value) ? parts : words));
export type PromptValue = z.output<typeof promptValue>;

const promptBlocks = closed(
  { title: '"promptBlocks"' },
  {
    goal: promptValue.optional(),
    constraints: z.array(promptValue).optional(),
    procedure: z.array(promptValue).optional(),
    outputRequired: z.record(z.string(), z.string()).optional(),
    verify: z.array(promptValue).optional(),
  },
);
export type PromptBlocks = z.output<typeof promptBlocks>;

const parameter = closed(
  { title: 'a parameter' },
  {
    name: nonEmptyText('Its name.'),
    type: nonEmptyText('Its type.'),
    required: flag('Whether it must be given.').optional(),
    description: text('What it is.').optional(),
    enum: z.array(z.custom<Json>(() => true)).optional(),
    default: z.custom<Json>(() => true).optional(),
  },
);

export const functionDefinition = closed(
  { title: 'a function definition' },
  {
    name: nonEmptyText('Its name.'),
    definition: nonEmptyText('What it does.'),
    parameters: z.array(parameter).optional(),
    scope: z.enum(['workflow', 'loop', 'step']).optional(),
  },
);
export type FunctionDefinition = z.output<typeof functionDefinition>;

const outputContract = closed(
  { title: 'an output contract' },
  { contractRef: nonEmptyText('The contract.'), required: flag('Whether it must be given.').optional() },
);

const consequence = closed(
  { title: 'a consequence' },
  {
    when: closed(
      {
        title: '"when"',
        exactlyOne: [['anyEqualsLevel', 'equalsLevel']],
        demands: { equalsLevel: ['dimensionId'], dimensionId: ['equalsLevel'] },
      },
      {
        anyEqualsLevel: nonEmptyText('The level.').optional(),
        forAssessment: nonEmptyText('The assessment.').optional(),
        dimensionId: nonEmptyText('The dimension.').optional(),
        equalsLevel: nonEmptyText('Its level.').optional(),
      },
    ),
    effect: closed(
      { title: '"effect"' },
      { kind: z.enum(['require_followup']), guidance: nonEmptyText('What is to be done then.') },
    ),
  },
);

const fragment = closed(
  { title: 'a fragment' },
  {
    id: nonEmptyText('Its id.'),
    when: condition.optional(),
    text: nonEmptyText('The text.'),
  },
);

const title = () => nonEmptyText('The title of the step.');

const task = closed(
  { title: 'a step', atMostOne: [['prompt', 'promptBlocks']] },
  {
    id: stepId(),
    title: title(),
    prompt: nonEmptyText('The prompt.').optional(),
    promptBlocks: promptBlocks.optional(),
    agentRole: text('Who the agent is in this step.').optional(),
    modelTier: tier(),
    guidance: texts('Hints.').optional(),
    askForFiles: flag('Whether files are asked for.').optional(),
    hasValidation: flag('Whether it is validated.').optional(),
    stepType: z.enum(['planned', 'scripted']).optional(),
    verifier: closed(
      { title: '"verifier"', atLeastOne: [['model', 'threshold']] },
      {
        model: nonEmptyText('The model that judges.').optional(),
        threshold: z.enum(['low', 'medium', 'high']).optional(),
      },
    ).optional(),
    requireConfirmation: confirmation.optional(),
    runCondition: condition.optional(),
    validationCriteria: criteria.optional(),
    outputContract: outputContract.optional(),
    assessmentRefs: texts('Assessments.').optional(),
    assessmentConsequences: z.array(consequence).optional(),
    notesOptional: flag('Whether it needs no notes.').optional(),
    functionDefinitions: z.array(functionDefinition).optional(),
    functionCalls: z
      .array(
        closed(
          { title: 'a function call' },
          { name: nonEmptyText('The function.'), args: anything().optional() },
        ),
      )
      .optional(),
    functionReferences: texts('Functions.').optional(),
    templateCall: closed(
      { title: 'a template call' },
      { templateId: nonEmptyText('The template.'), args: anything().optional() },
    ).optional(),
    promptFragments: z.array(fragment).optional(),
    audit: closed(
      { title: '"audit"' },
      { prompt: nonEmptyText('What is audited.').optional(), rubric: texts('Its dimensions.').optional() },
    ).optional(),
    verification: closed(
      { title: '"verification"' },
      { command: nonEmptyText('The command.').optional(), prompt: nonEmptyText('What to do.').optional() },
    ).optional(),
  },
);
export type TaskStep = z.output<typeof task> & { readonly type?: undefined };

const delegation = closed(
  { title: 'a delegation' },
  {
    workflowId: nonEmptyText('What is run.'),
    goal: text('What for.').optional(),
    runCondition: condition.optional(),
    contextMapping: z.record(z.string(), z.string()).optional(),
    args: z.record(z.string(), z.string()).optional(),
    modelTier: tier(),
    allowedTools: texts('Tools.').optional(),
  },
);

const parallel = closed(
  { title: 'a parallel step' },
  {
    id: stepId(),
    type: z.literal('parallel'),
    title: title(),
    parallelDelegations: z.array(delegation).min(1),
    requireConfirmation: confirmation.optional(),
    runCondition: condition.optional(),
    notesOptional: flag('Whether it needs no notes.').optional(),
    synthesis: closed(
      { title: '"synthesis"' },
      { prompt: nonEmptyText('What to do.').optional(), outputContract: outputContract.optional() },
    ).optional(),
  },
);
export type ParallelStep = z.output<typeof parallel>;

const bodyStep = stepOf({ task, parallel });
const inline = z.array(bodyStep).min(1);
const referred = nonEmptyText('The id of a step.');

const loop = closed(
  { title: 'a loop' },
  {
    id: stepId(),
    type: z.literal('loop'),
    title: title(),
    loop: loopConfig,
    body: choice([referred, inline], (value) => (typeof value === 'string' ? referred : inline)),
    functionDefinitions: z.array(functionDefinition).optional(),
    requireConfirmation: confirmation.optional(),
    runCondition: condition.optional(),
    notesOptional: flag('Whether it needs no notes.').optional(),
  },
);

export type BodyStep = TaskStep | ParallelStep;
export type LoopStep = Omit<z.output<typeof loop>, 'body'> & { readonly body: string | readonly BodyStep[] };
export type WorkrailStep = TaskStep | ParallelStep | LoopStep;

export const step = stepOf({ task, loop, parallel });

/** A step without a type is one that an agent works on. */
function stepOf<const Kinds extends Readonly<Record<string, z.ZodObject>> & { readonly task: z.ZodObject }>(
  kinds: Kinds,
) {
  const types = Object.keys(kinds).filter((kind) => kind !== 'task');
  return choice(Object.values(kinds), (value) => {
    if (!isMap(value) || value.type === undefined) return kinds.task;
    const type = value.type as JsonObject[string];
    const found = typeof type === 'string' && type !== 'task' ? kinds[type] : undefined;
    if (found !== undefined) return found;
    const hint = `Allowed: ${types.join(', ')}, or none at all${types.includes('loop') ? '' : '; loops in loops are not'}.`;
    return {
      refused: { code: 'not_allowed', message: `A step here cannot have "type" ${showValue(type)}.`, hint },
      path: ['type'],
    };
  });
}
