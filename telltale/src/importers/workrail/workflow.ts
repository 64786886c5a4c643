import type { Json, JsonObject } from '../../lib/json.ts';
import type { Entry } from '../report.ts';
import { Conversion, type ConvertOptions, NOTHING_AROUND, type PlacedBody, Spot } from './conversion.ts';
import { namedVariables, plainText } from './expressions.ts';
import { convertLoop, isArtifactLoop } from './loops.ts';
import type { WorkrailFile } from './read.ts';
import { type BodyStep, type LoopStep, stepsOf, type TaskStep, type WorkrailWorkflow } from './shape.ts';
import { convertBody } from './steps.ts';
import { bullets, FEATURES, section, sections } from './texts.ts';

export interface WorkflowConverted {
  /** The name of the workflow. */
  readonly name: string;
  readonly workflow: JsonObject;
  /** What judges notes, where a step has criteria. */
  readonly checks: JsonObject | undefined;
  readonly entries: readonly Entry[];
  /** Steps of `workflow`, with the ids of what they were made of. */
  readonly origins: ReadonlyMap<JsonObject, string>;
  /** Tiers of models that steps ask for, each with its agent. */
  readonly tiers: ReadonlyMap<string, string>;
  /** What is for people to read and has no key here. */
  readonly about: readonly string[];
}

/** A workflow of WorkRail as one of ours, and what became of each part of it. Pure. */
export function convertWorkflow(
  file: WorkrailFile,
  name: string,
  options: ConvertOptions,
): WorkflowConverted {
  const { workflow } = file;
  const c = new Conversion(file, `${name}-checks`, options);
  const at = new Spot(c, null, []);
  at.note('id', name === workflow.id ? 'kept' : 'changed', `the name ${name}`);
  const steps = convertSteps(workflow, c);
  const guidance = guidanceOf(workflow, steps, at);
  for (const text of workflow.metaGuidance ?? [])
    for (const each of namedVariables(text)) c.variables.named(each);
  const references = referencesOf(workflow, at);
  const features = [...new Set(workflow.features ?? [])].flatMap((feature) => featureOf(feature, at));
  noteRest(file, at);
  const runtime = c.variables.declared;
  const examples = (workflow.examples ?? []).map(
    (each) => `For example: ${typeof each === 'string' ? each : JSON.stringify(each)}`,
  );
  return {
    name,
    workflow: {
      kind: 'Workflow',
      name,
      ...(workflow.version === undefined ? {} : { version: workflow.version }),
      description: plainText(workflow.description),
      input: {
        type: 'object',
        properties: { goal: { type: 'string', description: 'What is to be done.' } },
      },
      ...(runtime.length === 0 ? {} : { context_variables: { runtime } }),
      ...(references.length === 0 ? {} : { references }),
      components: [guidance, ...features],
      steps,
    },
    checks: c.checks.manifest(c.checksName, name),
    entries: c.report.entries(),
    origins: c.origins,
    tiers: c.tiers,
    about: [workflow.name, ...(workflow.about === undefined ? [] : [workflow.about]), ...examples],
  };
}

function convertSteps({ steps }: WorkrailWorkflow, c: Conversion): readonly JsonObject[] {
  const bodies = new Set(steps.map((step) => (step.type === 'loop' ? step.body : undefined)));
  const bodyOf = (step: LoopStep, index: number): readonly PlacedBody[] => {
    const written =
      typeof step.body === 'string'
        ? steps.flatMap((each, at) =>
            each.id === step.body ? [{ step: each as BodyStep, path: ['steps', at] }] : [],
          )
        : step.body.map((each, nth) => ({ step: each, path: ['steps', index, 'body', nth] }));
    return written.flatMap((placed) => expandTemplate(placed, c));
  };
  const loops = steps.map((step, index) => {
    if (step.type !== 'loop') return undefined;
    const body = bodyOf(step, index);
    if (!isArtifactLoop(step, body)) return { body, decision: undefined };
    const wanted = `${step.loop.conditionSource?.loopId ?? step.id}_decision`;
    return { body, decision: c.variables.own(wanted, 'Whether the loop goes on: continue or stop.') };
  });
  return steps.flatMap((step, index): readonly JsonObject[] => {
    if (bodies.has(step.id)) return [];
    const path = ['steps', index];
    const loop = loops[index];
    if (step.type === 'loop')
      return convertLoop(
        step,
        loop?.body ?? [],
        new Spot(c, step.id, path, { ...NOTHING_AROUND, decision: loop?.decision }),
      );
    const decision = loops.slice(index).find((each) => each?.decision !== undefined)?.decision;
    return expandTemplate({ step, path }, c).flatMap((placed) =>
      convertBody(placed.step, new Spot(c, placed.step.id, placed.path, { ...NOTHING_AROUND, decision })),
    );
  });
}

/** The id that a routine is called by. */
export const templateIdOf = (id: string): string =>
  `wr.templates.routine.${id.replace(/^(?:wr\.)?routine-/, '')}`;

/** What a call brings to the steps of its routine, or is spoken of already. */
const CARRIED: readonly string[] = ['id', 'title', 'templateCall', 'runCondition', 'requireConfirmation'];
/** What a routine has and WorkRail does not bring along. */
const BEHIND = ['features', 'references', 'assessments', 'preconditions', 'clarificationPrompts'] as const;

/**
 * A step that calls a template becomes the steps of the routine, where it is at hand: with the arguments put in, the
 * caller's condition where a step has none of its own, and the routine's rules as guidance.
 */
function expandTemplate(placed: PlacedBody, c: Conversion): readonly PlacedBody[] {
  const { step } = placed;
  if (step.type !== undefined || step.templateCall === undefined) return [placed];
  const at = new Spot(c, step.id, placed.path);
  const { templateId } = step.templateCall;
  const routine = c.options.routine(templateId);
  if (routine === undefined) {
    const until = 'name its file as well, or put it beside this one; until then a task asks for it by name';
    at.left('templateCall', `${templateId} is not at hand: ${until}`);
    return [{ ...placed, step: standIn(step) }];
  }
  const steps = routine.steps.filter((each): each is BodyStep => each.type !== 'loop');
  if (steps.length < routine.steps.length)
    at.left('templateCall', 'loops of the routine: import it as a workflow of its own');
  at.kept('templateCall', `the ${steps.length} steps of ${routine.id} stand in its place`);
  at.changed('id', `the steps of the routine are called ${step.id}-…`);
  at.changed('title', 'the steps of the routine have titles of their own');
  for (const key of Object.keys(step))
    if (!CARRIED.includes(key)) at.left(key, 'the steps of the routine stand in its place, as in WorkRail');
  for (const key of BEHIND)
    if (routine[key] !== undefined)
      at.left(`templateCall.${key}`, `${key} of the routine: WorkRail does not bring them either`);
  if (step.runCondition !== undefined) at.kept('runCondition', 'if of each of these steps');
  if (step.requireConfirmation !== undefined) at.kept('requireConfirmation', 'with the last of these steps');
  return steps.map((each, index) => ({
    path: undefined,
    step: filledIn(each, step, routine, index === steps.length - 1, at),
  }));
}

/** `{name}`, but neither `{{name}}` nor JSON. */
const ARGUMENT = /(?<!\{)\{([A-Za-z_]\w*)\}(?!\})/g;

function filledIn(
  inner: BodyStep,
  caller: TaskStep,
  routine: WorkrailWorkflow,
  isLast: boolean,
  at: Spot,
): BodyStep {
  const { args = {} } = caller.templateCall ?? {};
  const fill = (text: string): string =>
    text.replace(ARGUMENT, (written, name: string) => {
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value !== undefined && typeof value !== 'object') return String(value);
      at.left('templateCall', `the routine asks for the argument ${written}, which is not given`);
      return written;
    });
  const runCondition = inner.runCondition ?? caller.runCondition;
  const requireConfirmation = inner.requireConfirmation ?? (isLast ? caller.requireConfirmation : undefined);
  const guidance = [
    ...(inner.type === undefined ? (inner.guidance ?? []) : []),
    ...(routine.metaGuidance ?? []),
  ];
  const common = {
    id: `${caller.id}-${inner.id}`,
    title: fill(inner.title),
    runCondition,
    requireConfirmation,
  };
  if (inner.type === 'parallel') return { ...inner, ...common };
  return {
    ...inner,
    ...common,
    ...(inner.prompt === undefined ? {} : { prompt: fill(inner.prompt) }),
    ...(guidance.length === 0 ? {} : { guidance }),
  };
}

function standIn({ templateCall, ...rest }: TaskStep): TaskStep {
  const given = Object.entries(templateCall?.args ?? {}).map(
    ([name, value]) => `- ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const name = templateCall?.templateId.split('.').at(-1);
  const asked = [
    `Work through the routine "${name}": do what its name says, thoroughly.`,
    ...(given.length === 0 ? [] : ['It is given:', ...given]),
  ].join('\n');
  return { ...rest, prompt: rest.prompt === undefined ? asked : `${rest.prompt}\n\n${asked}` };
}

/** What WorkRail says when a workflow begins: it joins the prompt of the task that comes first. */
function guidanceOf(workflow: WorkrailWorkflow, steps: readonly JsonObject[], at: Spot): JsonObject {
  const told = 'a component that joins the prompt of the first task';
  at.keptKeys(workflow, { metaGuidance: told, preconditions: told, clarificationPrompts: told });
  const listed = (heading: string, entries: readonly string[] = []) =>
    section(heading, bullets([...new Set(entries)].map(plainText)));
  const prompt = sections([
    section('The work as a whole', [plainText(workflow.description)]),
    listed('Rules for all of it', workflow.metaGuidance),
    listed('What must be there before you begin', workflow.preconditions),
    listed('Find out first, as far as it is not clear', workflow.clarificationPrompts),
  ]);
  return { name: 'guidance', prompt, inject_into: firstTasks(steps) };
}

/** Behind so many that may be skipped, one has come by. */
const MAX_FIRST = 8;

/** The task that comes first; where that may be skipped, the next one as well, in case. */
function firstTasks(steps: readonly JsonObject[]): readonly JsonObject[] {
  const entries: JsonObject[] = [];
  const skipped: string[] = [];
  for (const { task, isSure } of tasksIn(steps, true).slice(0, MAX_FIRST)) {
    const step = String(task.name);
    entries.push(skipped.length === 0 ? { step, always: true } : { step, if: skipped.join(' && ') });
    if (isSure) break;
    skipped.push(`steps[${JSON.stringify(step)}].status != "completed"`);
  }
  return entries;
}

const tasksIn = (
  steps: readonly JsonObject[],
  isSure: boolean,
): readonly { readonly task: JsonObject; readonly isSure: boolean }[] =>
  steps.flatMap((step) => {
    if (step.type === 'task') return [{ task: step, isSure: isSure && step.if === undefined }];
    return step.type === 'loop' || step.type === 'foreach'
      ? tasksIn(step.body as readonly JsonObject[], false)
      : [];
  });

/** What a feature adds to steps with prompt blocks. */
function featureOf(feature: string, at: Spot): readonly JsonObject[] {
  const key = `features ${feature}`;
  const { blockSteps } = at.c;
  const known = Object.hasOwn(FEATURES, feature) ? FEATURES[feature] : undefined;
  if (known === undefined) at.left(key, 'it is not known what it adds to prompts');
  else if (blockSteps.length === 0) at.kept(key, 'it joins steps with prompt blocks, and there are none');
  else
    at.changed(key, 'a component with its meaning in words of ours joins the steps that have prompt blocks');
  if (known === undefined || blockSteps.length === 0) return [];
  const prompt = sections([
    section('Further constraints', bullets(known.constraints ?? [])),
    section('Also', bullets(known.procedure ?? [])),
    section('Verify as well', bullets(known.verify ?? [])),
  ]);
  return [{ name: feature.replace(/[^A-Za-z0-9_-]+/g, '-'), prompt, inject_into: [...blockSteps] }];
}

const referencesOf = ({ references = [] }: WorkrailWorkflow, at: Spot): readonly JsonObject[] =>
  references.map(({ id, title, source, purpose, authoritative, resolveFrom }) => {
    if (resolveFrom !== 'package') at.kept(`references ${id}`, 'reference');
    else
      at.changed(
        `references ${id}`,
        `${source} is a file of WorkRail's package: copy it, or change "source"`,
      );
    const reference = { title: plainText(title), source: plainText(source), purpose: plainText(purpose) };
    return authoritative ? { ...reference, authoritative } : reference;
  });

/** Keys that say nothing by themselves. */
const SILENT: ReadonlySet<string> = new Set(['$schema', 'type']);

/** Keys of the workflow that no step shows; then all that the file holds and nobody has spoken of. */
function noteRest({ workflow, unknown }: WorkrailFile, at: Spot): void {
  const { c } = at;
  const { modelTier, metricsProfile, recommendedPreferences } = workflow;
  at.keptKeys(workflow, {
    name: 'first line of the file',
    description: 'description',
    version: 'version',
    steps: 'steps',
    about: 'comment at the head of the file',
    examples: 'comment at the head of the file',
    assessments: 'in the verifiers of the steps that name them',
    functionDefinitions: 'in the prompts of the steps that refer to them',
  });
  if (workflow.extensionPoints !== undefined)
    at.changed('extensionPoints', 'each stands for its default; .workrail/bindings.json is not read');
  if (modelTier !== undefined)
    at.changed('modelTier', `${modelTier}: the model of the agent that --agent makes`);
  if (recommendedPreferences !== undefined) {
    const wanted = Object.values(recommendedPreferences).join(', ');
    at.left('recommendedPreferences', `${wanted}: who is asked is said at each step`);
  }
  if (workflow.validatedAgainstSpecVersion !== undefined)
    at.left('validatedAgainstSpecVersion', "it is about WorkRail's own schema");
  if (metricsProfile === 'none') at.kept('metricsProfile', 'nothing is asked for');
  else if (metricsProfile !== undefined)
    at.changed('metricsProfile', 'the log has time, tokens and cost of each step');
  for (const [from, to] of c.variables.renamed())
    at.changed(`variable ${from}`, `it is called ${to}: a name that can stand in CEL`);
  const steps = stepsOf(workflow);
  for (const path of unknown) {
    const found = steps.findLast((each) => each.path.every((part, index) => path[index] === part));
    const spot = new Spot(c, found?.step.id ?? null, found?.path ?? []);
    spot.left(path.slice(found?.path.length ?? 0).join('.'), 'no version of WorkRail has this key');
  }
  const noteUnsaid = (value: object, spot: Spot) => {
    for (const [key, held] of Object.entries(value as Readonly<Record<string, Json | undefined>>))
      if (held !== undefined && !SILENT.has(key) && !spot.has(key))
        spot.left(key, 'nothing here corresponds to it');
  };
  noteUnsaid(workflow, at);
  for (const { step, path } of steps) noteUnsaid(step, new Spot(c, step.id, path));
}
