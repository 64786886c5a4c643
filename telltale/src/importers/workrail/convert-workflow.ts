import type { JsonObject } from '../../lib/json.ts';
import { nameOf } from '../names.ts';
import { bullets, filled, paragraphs, plainText, section } from '../values.ts';
import { StepContext, type WorkflowContext } from './context.ts';
import { convertLoop, isDecidedByAgent } from './convert-loop.ts';
import { convertStep } from './convert-step.ts';
import { FEATURES } from './prompt-text.ts';
import type { WorkrailFile } from './read-workflow.ts';
import { expandCall } from './routines.ts';
import { namedVariables } from './templates.ts';
import { type PlacedBody, stepsOf, type WorkrailWorkflow } from './workflow-schema.ts';

/** Converts a workflow of WorkRail, and reports what became of each part of it. Pure. */
export function convertWorkflow(file: WorkrailFile, flow: WorkflowContext): JsonObject {
  const { name, workflow } = flow;
  const at = new StepContext(flow, workflow, []);
  at.renamed('id', name, 'the name');
  const steps = convertSteps(workflow, flow);
  const guidance = guidanceOf(workflow, steps, at);
  const references = referencesOf(workflow, at);
  const features = [...new Set(workflow.features ?? [])].flatMap((feature) => featureOf(feature, at));
  noteWorkflow(file, at);
  return filled({
    kind: 'Workflow',
    name,
    version: workflow.version,
    description: plainText(workflow.description),
    input: { type: 'object', properties: { goal: { type: 'string', description: 'What is to be done.' } } },
    context_variables: filled({ runtime: flow.variables.declared }),
    references,
    components: [guidance, ...features],
    steps,
  });
}

function convertSteps({ steps }: WorkrailWorkflow, flow: WorkflowContext): readonly JsonObject[] {
  const bodies = new Set(steps.map((step) => (step.type === 'loop' ? step.body : undefined)));
  const placed = steps.map((step, index) => ({ step, path: ['steps', index] }));
  // Steps before a loop may make its decision, so all decisions get their names first.
  const loops = placed.map(({ step, path }): { body: PlacedBody; decision?: string } | undefined => {
    if (step.type !== 'loop') return undefined;
    const written = step.body;
    const body =
      typeof written === 'string'
        ? (placed.filter((each) => each.step.id === written) as PlacedBody)
        : written.map((inner, nth) => ({ step: inner, path: [...path, 'body', nth] }));
    const expanded = body.flatMap((each) => expandCall(each, flow));
    if (!isDecidedByAgent(step, expanded)) return { body: expanded };
    const wanted = `${step.loop.conditionSource?.loopId ?? step.id}_decision`;
    return { body: expanded, decision: flow.variables.added(wanted, { description: 'continue or stop' }) };
  });
  return placed.flatMap(({ step, path }, index): readonly JsonObject[] => {
    if (step.type === 'loop') {
      const { body = [], decision } = loops[index] ?? {};
      return [convertLoop(step, body, new StepContext(flow, step, path, { decision }))];
    }
    if (bodies.has(step.id)) return [];
    const decision = loops.slice(index).find((loop) => loop?.decision !== undefined)?.decision;
    return expandCall({ step, path }, flow).flatMap((each) =>
      convertStep(each.step, new StepContext(flow, each.step, each.path, { decision })),
    );
  });
}

const FIRST = 'a component that joins the prompt of the first task';

/** What WorkRail says when a workflow begins: a component for the prompt of the task that comes first. */
function guidanceOf(workflow: WorkrailWorkflow, steps: readonly JsonObject[], at: StepContext): JsonObject {
  for (const text of workflow.metaGuidance ?? [])
    for (const name of namedVariables(text)) at.flow.variables.named(name);
  const list = (heading: string, entries: readonly string[] = []) =>
    section(heading, bullets([...new Set(entries)].map(plainText)));
  const prompt = paragraphs(
    section('The whole task', [plainText(workflow.description)]),
    list('Rules for every step', workflow.metaGuidance),
    list('Required before you begin', workflow.preconditions),
    list('Find out first, unless it is clear', workflow.clarificationPrompts),
  );
  return { name: 'guidance', prompt: prompt ?? '', inject_into: firstTasks(steps) };
}

/** Of so many tasks that may be skipped, one will run. */
const MAX_FIRST = 8;

/** The task that comes first. If it may be skipped, also the next one, in case it was, and so on. */
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

type PossibleTask = { readonly task: JsonObject; readonly isSure: boolean };

const tasksIn = (steps: readonly JsonObject[], isSure: boolean): readonly PossibleTask[] =>
  steps.flatMap((step) => {
    if (step.type === 'task') return [{ task: step, isSure: isSure && step.if === undefined }];
    return Array.isArray(step.body) ? tasksIn(step.body as readonly JsonObject[], false) : [];
  });

/** What a feature adds to steps with prompt blocks. */
function featureOf(feature: string, at: StepContext): readonly JsonObject[] {
  const steps = [...at.flow.blockSteps];
  const lines = Object.hasOwn(FEATURES, feature) ? FEATURES[feature] : undefined;
  const how = 'a component, in our words, that joins the steps with prompt blocks';
  if (lines === undefined) at.note(`features ${feature}`, 'left', 'it is not known what it adds to prompts');
  else at.note(`features ${feature}`, 'changed', steps.length === 0 ? `${how}; there are none` : how);
  if (lines === undefined || steps.length === 0) return [];
  return [{ name: nameOf(feature), prompt: bullets(lines).join('\n'), inject_into: steps }];
}

const referencesOf = ({ references = [] }: WorkrailWorkflow, at: StepContext): readonly JsonObject[] =>
  references.map(({ id, title, source, purpose, authoritative, resolveFrom }) => {
    const packaged = `${source} is a file of WorkRail's package: copy it, or change "source"`;
    if (resolveFrom === 'package') at.note(`references ${id}`, 'changed', packaged);
    else at.note(`references ${id}`, 'kept', 'reference');
    const texts = { title: plainText(title), source: plainText(source), purpose: plainText(purpose) };
    return authoritative ? { ...texts, authoritative } : texts;
  });

/** Reports the keys of the workflow itself. */
function noteWorkflow({ workflow, unknown }: WorkrailFile, at: StepContext): void {
  const { modelTier, recommendedPreferences = {} } = workflow;
  at.noteAll('kept', {
    name: 'first line of the file',
    description: 'description',
    version: 'version',
    steps: 'steps',
    about: 'comment at the head of the file',
    examples: 'comment at the head of the file',
    metaGuidance: FIRST,
    preconditions: FIRST,
    clarificationPrompts: FIRST,
    assessments: 'in the verifiers of the steps that name them',
    functionDefinitions: 'in the prompts of the steps that refer to them',
  });
  at.noteAll('changed', {
    extensionPoints: 'each stands for its default; .workrail/bindings.json is not read',
    modelTier: `${modelTier}: the model of the agent that --agent makes`,
    metricsProfile: 'the log has time, tokens and cost of each step, whatever is asked for',
  });
  const preferences = Object.values(recommendedPreferences).join(', ');
  at.left('recommendedPreferences', `${preferences}: each step says whether a person is asked`);
  at.left('validatedAgainstSpecVersion', "it is about WorkRail's own schema");
  at.take('$schema');
  for (const [from, to] of at.flow.variables.renamed())
    at.note(`variable ${from}`, 'changed', `it is called ${to}: a name that can stand in CEL`);
  at.rest();
  // Unknown keys of the workflow and of its steps are reported with the others. These are further inside.
  const steps = stepsOf(workflow);
  for (const path of unknown) {
    const owner = steps.findLast((each) => each.path.every((part, index) => path[index] === part));
    const inside = path.slice(owner?.path.length ?? 0);
    if (inside.length < 2) continue;
    const part = owner === undefined ? at : new StepContext(at.flow, owner.step, owner.path);
    part.note(inside.join('.'), 'left', 'no version of WorkRail has this key');
  }
}
