import { z } from 'zod';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { IssuePath } from '../../manifest/diagnostic.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { count, flag, nonEmptyText, text } from '../../manifest/schema/values.ts';

const some = nonEmptyText('A text.');
const any = text('A text.');
const yes = flag('true or false.');
const anything = z.custom<Json>(() => true);
const values = z.record(z.string(), anything);
const strings = z.record(z.string(), z.string());
const texts = z.array(any);
const entries = z.array(some);
const number = z.number();

/** Keys that need not be there. */
const optional = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

type Optional<Key extends string, Value> = { readonly [K in Key]?: Value | undefined };

/** A test on context variables. */
export interface ShapeCondition
  extends Optional<'equals' | 'not_equals', Json>,
    Optional<'gt' | 'gte' | 'lt' | 'lte', number>,
    Optional<'var' | 'contains' | 'startsWith' | 'endsWith' | 'matches', string>,
    Optional<'and' | 'or', readonly ShapeCondition[]> {
  readonly in?: readonly Json[] | undefined;
  readonly not?: ShapeCondition | undefined;
}

const nestedCondition = z.lazy(() => condition);
const condition: z.ZodType<ShapeCondition> = closed(
  { title: 'a condition' },
  {
    ...optional({ var: some, equals: anything, not_equals: anything, in: z.array(anything) }),
    ...optional({ gt: number, gte: number, lt: number, lte: number }),
    ...optional({ contains: any, startsWith: any, endsWith: any, matches: any }),
    ...optional({ and: z.array(nestedCondition), or: z.array(nestedCondition), not: nestedCondition }),
  },
);

const gate = closed(
  { title: 'a confirmation' },
  { kind: z.enum(['coordinator_eval', 'human_approval']), condition: condition.optional() },
);
/** `requireConfirmation`: yes or no, a condition, or who is asked. */
const confirmation = choice([yes, gate, condition], (value) =>
  isMap(value) ? (value.kind === undefined ? condition : gate) : yes,
);

/** What the notes of a step have to be. A condition that is a text is none that WorkRail looks at. */
export interface Rule
  extends Optional<'value' | 'pattern' | 'flags' | 'message', string>,
    Optional<'min' | 'max', number> {
  readonly type: 'contains' | 'regex' | 'length' | 'schema';
  readonly schema?: JsonObject | undefined;
  readonly condition?: ShapeCondition | string | undefined;
}
interface Composition extends Optional<'and' | 'or', readonly Criterion[]> {
  readonly not?: Criterion | undefined;
}
/** A bare text is a regular expression. */
export type Criterion = string | Rule | Composition;
export type Criteria = readonly Criterion[] | Composition | Rule;

const rule = closed(
  { title: 'a rule' },
  {
    type: z.enum(['contains', 'regex', 'length', 'schema']),
    ...optional({ value: any, pattern: any, flags: any, message: any }),
    ...optional({ min: number, max: number, schema: values }),
    condition: choice([any, condition], (value) => (typeof value === 'string' ? any : condition)).optional(),
  },
);
const nestedCriterion: z.ZodType<Criterion> = z.lazy(() => criterion);
const composition: z.ZodType<Composition> = closed(
  { title: 'a composition of rules', exactlyOne: [['and', 'or', 'not']] },
  optional({ and: z.array(nestedCriterion), or: z.array(nestedCriterion), not: nestedCriterion }),
);
const ruleOrComposition = (value: unknown) => (isMap(value) && value.type !== undefined ? rule : composition);
const criterion: z.ZodType<Criterion> = choice([some, rule, composition], (value) =>
  typeof value === 'string' ? some : ruleOrComposition(value),
);
const criterionList = z.array(criterion);
const criteria: z.ZodType<Criteria> = choice([criterionList, rule, composition], (value) =>
  Array.isArray(value) ? criterionList : ruleOrComposition(value),
);

const identifier = z.string().regex(/^[A-Za-z_]\w*$/);
const howOften = z.number().min(0);
const conditionSource = closed(
  { title: '"conditionSource"' },
  {
    kind: z.enum(['artifact_contract', 'context_variable']),
    ...optional({ contractRef: some, loopId: some, condition }),
  },
);
const loopConfig = closed(
  { title: '"loop"' },
  {
    type: z.enum(['while', 'until', 'for', 'forEach']),
    count: choice([howOften, any], (value) => (typeof value === 'string' ? any : howOften)).optional(),
    maxIterations: count('The most rounds.'),
    ...optional({ condition, items: some, conditionSource }),
    ...optional({ iterationVar: identifier, itemVar: identifier, indexVar: identifier }),
  },
);

const tier = z.enum(['lightweight', 'mid', 'heavy']);
const stepId = z
  .string()
  .regex(/^[a-z0-9-]+$/)
  .min(3)
  .register(z.globalRegistry, { expects: 'at least three lower-case letters, digits and "-"' });

const part = { kind: z.enum(['text', 'ref']), ...optional({ text: any, refId: any }) };
const parts = z.array(closed({ title: 'a part of a prompt' }, part));
const promptValue = choice([any, parts], (value) => (Array.isArray(value) ? parts : any));
export type PromptValue = z.output<typeof promptValue>;
const promptBlocks = closed(
  { title: '"promptBlocks"' },
  {
    ...optional({ goal: promptValue, constraints: z.array(promptValue), procedure: z.array(promptValue) }),
    ...optional({ outputRequired: strings, verify: z.array(promptValue) }),
  },
);
export type PromptBlocks = z.output<typeof promptBlocks>;

const parameter = closed(
  { title: 'a parameter' },
  {
    name: some,
    type: some,
    ...optional({ required: yes, description: any, enum: z.array(anything), default: anything }),
  },
);
const functionDefinition = closed(
  { title: 'a function definition' },
  {
    name: some,
    definition: some,
    parameters: z.array(parameter).optional(),
    scope: z.enum(['workflow', 'loop', 'step']).optional(),
  },
);
export type FunctionDefinition = z.output<typeof functionDefinition>;

const outputContract = closed(
  { title: 'an output contract' },
  { contractRef: some, required: yes.optional() },
);
const when = closed(
  {
    title: '"when"',
    exactlyOne: [['anyEqualsLevel', 'equalsLevel']],
    demands: { equalsLevel: ['dimensionId'], dimensionId: ['equalsLevel'] },
  },
  optional({ anyEqualsLevel: some, forAssessment: some, dimensionId: some, equalsLevel: some }),
);
const effect = closed({ title: '"effect"' }, { kind: z.enum(['require_followup']), guidance: some });

const common = {
  id: stepId,
  title: some,
  ...optional({ requireConfirmation: confirmation, runCondition: condition, notesOptional: yes }),
};
const verifier = closed(
  { title: '"verifier"', atLeastOne: [['model', 'threshold']] },
  optional({ model: some, threshold: z.enum(['low', 'medium', 'high']) }),
);
const call = closed({ title: 'a function call' }, { name: some, args: values.optional() });
const templateCall = closed({ title: 'a template call' }, { templateId: some, args: values.optional() });
const fragment = closed({ title: 'a fragment' }, { id: some, when: condition.optional(), text: some });
const audit = closed({ title: '"audit"' }, optional({ prompt: some, rubric: texts }));
const verification = closed({ title: '"verification"' }, optional({ command: some, prompt: some }));
const consequences = z.array(closed({ title: 'a consequence' }, { when, effect }));
const functionDefinitions = z.array(functionDefinition);
const task = closed(
  { title: 'a step', atMostOne: [['prompt', 'promptBlocks']] },
  {
    ...common,
    ...optional({ prompt: some, promptBlocks, agentRole: any, modelTier: tier, guidance: texts }),
    ...optional({ askForFiles: yes, hasValidation: yes, verifier, outputContract, templateCall }),
    ...optional({ stepType: z.enum(['planned', 'scripted']), validationCriteria: criteria }),
    ...optional({ assessmentRefs: texts, assessmentConsequences: consequences, audit, verification }),
    ...optional({ functionDefinitions, functionCalls: z.array(call), functionReferences: texts }),
    ...optional({ promptFragments: z.array(fragment) }),
  },
);
export type TaskStep = z.output<typeof task> & { readonly type?: undefined };

const delegation = closed(
  { title: 'a delegation' },
  {
    workflowId: some,
    ...optional({ goal: any, runCondition: condition, contextMapping: strings, args: strings }),
    ...optional({ modelTier: tier, allowedTools: texts }),
  },
);
const synthesis = closed({ title: '"synthesis"' }, optional({ prompt: some, outputContract }));
const parallel = closed(
  { title: 'a parallel step' },
  {
    ...common,
    type: z.literal('parallel'),
    parallelDelegations: z.array(delegation).min(1),
    synthesis: synthesis.optional(),
  },
);
export type ShapeParallelStep = z.output<typeof parallel>;

const inline = z.array(stepOf({ task, parallel })).min(1);
const loop = closed(
  { title: 'a loop' },
  {
    ...common,
    type: z.literal('loop'),
    loop: loopConfig,
    body: choice([some, inline], (value) => (typeof value === 'string' ? some : inline)),
    functionDefinitions: functionDefinitions.optional(),
  },
);
export type BodyStep = TaskStep | ShapeParallelStep;
export type LoopStep = Omit<z.output<typeof loop>, 'body'> & { readonly body: string | readonly BodyStep[] };
export type WorkrailStep = TaskStep | ShapeParallelStep | LoopStep;

/** A step without a type is one that an agent works on. */
function stepOf<const Kinds extends Readonly<Record<string, z.ZodObject>> & { readonly task: z.ZodObject }>(
  kinds: Kinds,
) {
  const types = Object.keys(kinds).filter((kind) => kind !== 'task');
  return choice(Object.values(kinds), (value) => {
    if (!isMap(value) || value.type === undefined) return kinds.task;
    const type = value.type as Json;
    const found = typeof type === 'string' && type !== 'task' ? kinds[type] : undefined;
    if (found !== undefined) return found;
    const hint = `Allowed: ${types.join(', ')}, or none at all${types.includes('loop') ? '' : '; loops in loops are not'}.`;
    const message = `A step here cannot have "type" ${showValue(type)}.`;
    return { refused: { code: 'not_allowed', message, hint }, path: ['type'] };
  });
}

const dimension = closed(
  { title: 'a dimension' },
  { id: some, purpose: some, levels: z.array(some).min(2), required: yes.optional() },
);
const assessment = closed(
  { title: 'an assessment' },
  { id: some, purpose: some, dimensions: z.array(dimension).min(1) },
);
export type Assessment = z.output<typeof assessment>;

const preferences = closed(
  { title: '"recommendedPreferences"' },
  optional({ recommendedAutonomy: any, recommendedRiskPolicy: any }),
);
const extensionPoint = closed(
  { title: 'an extension point' },
  {
    slotId: some,
    purpose: some,
    default: some,
    ...optional({ acceptedKinds: z.array(z.enum(['routine', 'workflow'])) }),
  },
);
const reference = closed(
  { title: 'a reference' },
  {
    id: some,
    title: some,
    source: some,
    purpose: some,
    authoritative: yes,
    ...optional({ resolveFrom: z.enum(['workspace', 'package']) }),
  },
);
const workflowId = z
  .string()
  .regex(/^([a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)$/)
  .min(3)
  .register(z.globalRegistry, {
    expects:
      'at least three lower-case letters, digits, "_" and "-", with one namespace and a dot before them at the most',
  });

/** A workflow of WorkRail, of all the versions of its schema. */
export const workrailWorkflow = closed(
  { title: 'a WorkRail workflow' },
  {
    id: workflowId,
    name: some,
    description: some,
    steps: z.array(stepOf({ task, loop, parallel })).min(1),
    ...optional({ $schema: any, version: any, modelTier: tier, about: any, metricsProfile: any }),
    ...optional({ preconditions: entries, clarificationPrompts: entries, metaGuidance: entries }),
    ...optional({ features: entries, functionDefinitions, recommendedPreferences: preferences }),
    ...optional({ assessments: z.array(assessment), extensionPoints: z.array(extensionPoint) }),
    ...optional({ references: z.array(reference), validatedAgainstSpecVersion: number }),
    examples: z.array(anything).optional(),
  },
);
export type WorkrailWorkflow = Omit<z.output<typeof workrailWorkflow>, 'steps'> & {
  readonly steps: readonly WorkrailStep[];
};

/** A step, and where it stands in its file. */
export interface PlacedStep {
  readonly step: WorkrailStep;
  readonly path: IssuePath;
}

/** Every step of a workflow, those inside loops behind their loop. */
export function stepsOf({ steps }: Pick<WorkrailWorkflow, 'steps'>): readonly PlacedStep[] {
  return steps.flatMap((step, index): readonly PlacedStep[] => {
    const own = { step, path: ['steps', index] };
    if (step.type !== 'loop' || typeof step.body === 'string') return [own];
    return [own, ...step.body.map((inner, nth) => ({ step: inner, path: [...own.path, 'body', nth] }))];
  });
}
