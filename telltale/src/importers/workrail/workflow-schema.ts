import { z } from 'zod';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { IssuePath } from '../../manifest/diagnostic.ts';
import { choice } from '../../manifest/schema/choice.ts';
import { type ClosedPlace, closed } from '../../manifest/schema/closed.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { count, flag, nonEmptyText, text } from '../../manifest/schema/values.ts';

const anyText = text('A text.');
const filledText = nonEmptyText('A text.');
const yesOrNo = flag('true or false.');
const number = z.number();
const anything = z.custom<Json>(() => true);
const anyMap = z.record(z.string(), anything);
const textByKey = z.record(z.string(), z.string());
const texts = z.array(anyText);
const filledTexts = z.array(filledText);

/** A map with keys that it must have, keys that it may have, and rules about them. */
const map = <Required extends z.ZodRawShape, Optional extends z.ZodRawShape>(
  title: string,
  required: Required,
  optional: Optional,
  rules: Partial<ClosedPlace> = {},
) => closed({ ...rules, title }, { ...required, ...z.object(optional).partial().shape });

/** The same schema for several keys. */
const each = <Key extends string, Schema extends z.ZodType>(schema: Schema, ...keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, schema])) as { readonly [K in Key]: Schema };

type OptionalKeys<Key extends string, Value> = { readonly [K in Key]?: Value | undefined };

/** A test of context variables. */
export interface WorkrailCondition
  extends OptionalKeys<'equals' | 'not_equals', Json>,
    OptionalKeys<'gt' | 'gte' | 'lt' | 'lte', number>,
    OptionalKeys<'var' | 'contains' | 'startsWith' | 'endsWith' | 'matches', string>,
    OptionalKeys<'and' | 'or', readonly WorkrailCondition[]> {
  readonly in?: readonly Json[] | undefined;
  readonly not?: WorkrailCondition | undefined;
}

const pattern = z.string().refine(isPattern, 'It is not a regular expression.');
const nestedCondition = z.lazy(() => condition);
const condition: z.ZodType<WorkrailCondition> = map(
  'a condition',
  {},
  {
    var: filledText,
    in: z.array(anything),
    not: nestedCondition,
    ...each(anything, 'equals', 'not_equals'),
    ...each(number, 'gt', 'gte', 'lt', 'lte'),
    matches: pattern,
    ...each(anyText, 'contains', 'startsWith', 'endsWith'),
    ...each(z.array(nestedCondition), 'and', 'or'),
  },
);

const gate = map('a confirmation', { kind: z.enum(['coordinator_eval', 'human_approval']) }, { condition });
/** `requireConfirmation`: yes or no, a condition, or who is asked. */
const confirmation = choice([yesOrNo, gate, condition], (value) =>
  isMap(value) ? (value.kind === undefined ? condition : gate) : yesOrNo,
);

/** A requirement on the notes of a step. WorkRail ignores a condition that is text. */
export interface Rule
  extends OptionalKeys<'value' | 'pattern' | 'flags' | 'message', string>,
    OptionalKeys<'min' | 'max', number> {
  readonly type: 'contains' | 'regex' | 'length' | 'schema';
  readonly schema?: JsonObject | undefined;
  readonly condition?: WorkrailCondition | string | undefined;
}
interface Composition extends OptionalKeys<'and' | 'or', readonly Criterion[]> {
  readonly not?: Criterion | undefined;
}
/** A bare text is a regular expression. */
export type Criterion = string | Rule | Composition;
export type Criteria = readonly Criterion[] | Composition | Rule;

const rule = map(
  'a rule',
  { type: z.enum(['contains', 'regex', 'length', 'schema']) },
  {
    schema: anyMap,
    condition: choice([anyText, condition], (value) => (typeof value === 'string' ? anyText : condition)),
    pattern,
    flags: z.string().regex(/^[gimsuy]*$/),
    ...each(anyText, 'value', 'message'),
    ...each(number, 'min', 'max'),
  },
);
const nestedCriterion: z.ZodType<Criterion> = z.lazy(() => criterion);
const nestedCriteria = z.array(nestedCriterion);
const composition: z.ZodType<Composition> = map(
  'a composition of rules',
  {},
  { and: nestedCriteria, or: nestedCriteria, not: nestedCriterion },
  { exactlyOne: [['and', 'or', 'not']] },
);
const ruleOrComposition = (value: unknown) => (isMap(value) && value.type !== undefined ? rule : composition);
const criterion: z.ZodType<Criterion> = choice([filledText, rule, composition], (value) =>
  typeof value === 'string' ? filledText : ruleOrComposition(value),
);
const criteria: z.ZodType<Criteria> = choice([nestedCriteria, rule, composition], (value) =>
  Array.isArray(value) ? nestedCriteria : ruleOrComposition(value),
);

const conditionSource = map(
  '"conditionSource"',
  { kind: z.enum(['artifact_contract', 'context_variable']) },
  { contractRef: filledText, loopId: filledText, condition },
);
const howOften = z.number().min(0);
const loopCount = choice([howOften, anyText], (value) => (typeof value === 'string' ? anyText : howOften));
const loopVariables = each(z.string().regex(/^[A-Za-z_]\w*$/), 'iterationVar', 'itemVar', 'indexVar');
const loopConfig = map(
  '"loop"',
  { type: z.enum(['while', 'until', 'for', 'forEach']), maxIterations: count('The most rounds.') },
  { count: loopCount, condition, items: filledText, conditionSource, ...loopVariables },
);

const promptPart = map(
  'a part of a prompt',
  { kind: z.enum(['text', 'ref']) },
  each(anyText, 'text', 'refId'),
);
const promptParts = z.array(promptPart);
const promptValue = choice([anyText, promptParts], (value) => (Array.isArray(value) ? promptParts : anyText));
export type PromptValue = z.output<typeof promptValue>;
const promptLists = each(z.array(promptValue), 'constraints', 'procedure', 'verify');
const promptBlocks = map(
  '"promptBlocks"',
  {},
  { goal: promptValue, outputRequired: textByKey, ...promptLists },
);
export type PromptBlocks = z.output<typeof promptBlocks>;
const fragment = map('a fragment', each(filledText, 'id', 'text'), { when: condition });

const parameterOptions = {
  required: yesOrNo,
  description: anyText,
  enum: z.array(anything),
  default: anything,
};
const parameter = map('a parameter', each(filledText, 'name', 'type'), parameterOptions);
const functionOptions = { parameters: z.array(parameter), scope: z.enum(['workflow', 'loop', 'step']) };
const definition = map('a function definition', each(filledText, 'name', 'definition'), functionOptions);
export type FunctionDefinition = z.output<typeof definition>;
const functionDefinitions = z.array(definition);
const functionCall = map('a function call', { name: filledText }, { args: anyMap });

const outputContract = map('an output contract', { contractRef: filledText }, { required: yesOrNo });
const levels = each(filledText, 'anyEqualsLevel', 'forAssessment', 'dimensionId', 'equalsLevel');
const when = map('"when"', {}, levels, {
  exactlyOne: [['anyEqualsLevel', 'equalsLevel']],
  demands: { equalsLevel: ['dimensionId'], dimensionId: ['equalsLevel'] },
});
const effect = map('"effect"', { kind: z.enum(['require_followup']), guidance: filledText }, {});
const verifierKeys = { model: filledText, threshold: z.enum(['low', 'medium', 'high']) };

const modelTier = z.enum(['lightweight', 'mid', 'heavy']);
const stepId = id('at least three lower-case letters, digits and "-"', /^[a-z0-9-]{3,}$/);
const stepKeys = { id: stepId, title: filledText };
const stepOptions = { requireConfirmation: confirmation, runCondition: condition, notesOptional: yesOrNo };
const promptKeys = {
  prompt: filledText,
  promptBlocks,
  promptFragments: z.array(fragment),
  agentRole: anyText,
};
const judgeKeys = {
  verifier: map('"verifier"', {}, verifierKeys, { atLeastOne: [['model', 'threshold']] }),
  validationCriteria: criteria,
  assessmentConsequences: z.array(map('a consequence', { when, effect }, {})),
  audit: map('"audit"', {}, { prompt: filledText, rubric: texts }),
  verification: map('"verification"', {}, each(filledText, 'command', 'prompt')),
};
const task = map(
  'a step',
  stepKeys,
  {
    ...stepOptions,
    ...promptKeys,
    ...judgeKeys,
    modelTier,
    stepType: z.enum(['planned', 'scripted']),
    outputContract,
    templateCall: map('a template call', { templateId: filledText }, { args: anyMap }),
    functionDefinitions,
    functionCalls: z.array(functionCall),
    ...each(yesOrNo, 'askForFiles', 'hasValidation'),
    ...each(texts, 'guidance', 'assessmentRefs', 'functionReferences'),
  },
  { atMostOne: [['prompt', 'promptBlocks']] },
);
export type TaskStep = z.output<typeof task> & { readonly type?: undefined };

const delegationTexts = each(textByKey, 'contextMapping', 'args');
const delegation = map(
  'a delegation',
  { workflowId: filledText },
  { goal: anyText, runCondition: condition, modelTier, allowedTools: texts, ...delegationTexts },
);
const parallel = map(
  'a parallel step',
  { ...stepKeys, type: z.literal('parallel'), parallelDelegations: z.array(delegation).min(1) },
  { ...stepOptions, synthesis: map('"synthesis"', {}, { prompt: filledText, outputContract }) },
);
export type WorkrailParallel = z.output<typeof parallel>;

const bodySteps = z.array(stepOf({ task, parallel })).min(1);
const body = choice([filledText, bodySteps], (value) => (typeof value === 'string' ? filledText : bodySteps));
const loopKeys = { ...stepKeys, type: z.literal('loop'), loop: loopConfig, body };
const loop = map('a loop', loopKeys, { ...stepOptions, functionDefinitions });
export type BodyStep = TaskStep | WorkrailParallel;
export type LoopStep = Omit<z.output<typeof loop>, 'body'> & { readonly body: string | readonly BodyStep[] };
export type WorkrailStep = BodyStep | LoopStep;

/** One of several kinds of steps, chosen by `type`. A step without it is a task. */
function stepOf<const Kinds extends Readonly<Record<string, z.ZodObject>>>(kinds: Kinds) {
  return choice(Object.values(kinds) as Kinds[keyof Kinds][], (value) => {
    const type = isMap(value) ? (value.type ?? 'task') : 'task';
    const found = Object.entries(kinds).find(([kind]) => kind === type)?.[1];
    const allowed = Object.keys(kinds).filter((kind) => kind !== 'task');
    const hint = `Allowed: ${allowed.join(', ')}, or none at all${'loop' in kinds ? '' : '; loops in loops are not'}.`;
    const message = `A step here cannot have "type" ${showValue(type)}.`;
    return found ?? { refused: { code: 'not_allowed', message, hint }, path: ['type'] };
  });
}

const dimensionKeys = { ...each(filledText, 'id', 'purpose'), levels: filledTexts.min(2) };
const dimensions = z.array(map('a dimension', dimensionKeys, { required: yesOrNo })).min(1);
const assessment = map('an assessment', { ...each(filledText, 'id', 'purpose'), dimensions }, {});
export type Assessment = z.output<typeof assessment>;

const slotKeys = each(filledText, 'slotId', 'purpose', 'default');
const slotOptions = { acceptedKinds: z.array(z.enum(['routine', 'workflow'])) };
const referenceKeys = { ...each(filledText, 'id', 'title', 'source', 'purpose'), authoritative: yesOrNo };
const referenceOptions = { resolveFrom: z.enum(['workspace', 'package']) };
const preferences = each(anyText, 'recommendedAutonomy', 'recommendedRiskPolicy');
const workflowId = id(
  'at least three lower-case letters, digits, "_" and "-", with at most one namespace and a dot first',
  /^(?=.{3})([a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)$/,
);
const steps = z.array(stepOf({ task, loop, parallel })).min(1);

/** A workflow of WorkRail, in any version of its schema. */
export const workrailWorkflow = map(
  'a WorkRail workflow',
  { id: workflowId, name: filledText, description: filledText, steps },
  {
    ...each(anyText, '$schema', 'version', 'about', 'metricsProfile'),
    ...each(filledTexts, 'preconditions', 'clarificationPrompts', 'metaGuidance', 'features'),
    modelTier,
    functionDefinitions,
    recommendedPreferences: map('"recommendedPreferences"', {}, preferences),
    assessments: z.array(assessment),
    extensionPoints: z.array(map('an extension point', slotKeys, slotOptions)),
    references: z.array(map('a reference', referenceKeys, referenceOptions)),
    validatedAgainstSpecVersion: number,
    examples: z.array(anything),
  },
);
export type WorkrailWorkflow = Omit<z.output<typeof workrailWorkflow>, 'steps'> & {
  readonly steps: readonly WorkrailStep[];
};

function isPattern(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

function id(expects: string, pattern: RegExp) {
  return z.string().regex(pattern).register(z.globalRegistry, { expects });
}

/** A step, and its path in the file; undefined if the step comes from another file. */
export interface PlacedStep<S extends WorkrailStep = WorkrailStep> {
  readonly step: S;
  readonly path: IssuePath | undefined;
}

export type PlacedBody = readonly PlacedStep<BodyStep>[];

/** All steps of a workflow. The body of a loop follows the loop. */
export function stepsOf({ steps }: WorkrailWorkflow): readonly (PlacedStep & { readonly path: IssuePath })[] {
  return steps.flatMap((step, index) => {
    const path = ['steps', index];
    const body = step.type === 'loop' && typeof step.body !== 'string' ? step.body : [];
    return [{ step, path }, ...body.map((inner, nth) => ({ step: inner, path: [...path, 'body', nth] }))];
  });
}
