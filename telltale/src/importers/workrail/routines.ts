import { dirname, join } from 'node:path';
import type { ImportOptions } from '../importer.ts';
import { readSource } from '../sources.ts';
import { bullets, paragraphs } from '../values.ts';
import { StepContext, type WorkflowContext } from './context.ts';
import { readWorkflow, type WorkrailFile } from './read-workflow.ts';
import {
  type BodyStep,
  type PlacedBody,
  stepsOf,
  type TaskStep,
  type WorkrailWorkflow,
} from './workflow-schema.ts';

const templateIdOf = (id: string): string => `wr.templates.routine.${id.replace(/^(?:wr\.)?routine-/, '')}`;

/** All imported workflows, and the routines in files next to a workflow that calls them. */
export async function findRoutines(
  files: readonly { readonly read?: WorkrailFile; readonly path: string }[],
  options: ImportOptions,
): Promise<WorkflowContext['routines']> {
  const known = new Map<string, WorkrailWorkflow>();
  const add = (read: WorkrailFile | undefined) => {
    if (read !== undefined) known.set(templateIdOf(read.workflow.id), read.workflow);
  };
  for (const { read } of files) add(read);
  for (const { read, path } of files)
    for (const templateId of read === undefined ? [] : callsIn(read.workflow)) {
      const name = templateId.split('.').at(-1) ?? templateId;
      for (const folder of ['routines', '.']) {
        if (known.has(templateId) || !/^[\w-]+$/.test(name)) continue;
        const found = await readSource(join(dirname(path), folder, `${name}.json`), options);
        if ('source' in found) add(readWorkflow(found.source).read);
      }
    }
  return known;
}

const callsIn = (workflow: WorkrailWorkflow): readonly string[] =>
  stepsOf(workflow).flatMap(({ step }) =>
    step.type === undefined ? (step.templateCall?.templateId ?? []) : [],
  );

/**
 * A step that calls a routine becomes the steps of the routine: with its arguments, with its condition on steps that have
 * none, and with the rules of the routine as guidance. Without the routine it asks for it by name.
 */
export function expandCall(placed: PlacedBody[number], flow: WorkflowContext): PlacedBody {
  const { step, path } = placed;
  if (step.type !== undefined || step.templateCall === undefined) return [placed];
  const at = new StepContext(flow, step, path);
  const { templateId } = step.templateCall;
  const routine = flow.routines.get(templateId);
  if (routine === undefined) {
    const remedy =
      'import its file as well, or put it next to this one; until then a task asks for it by name';
    at.left('templateCall', `${templateId} was not found: ${remedy}`);
    return [{ path, step: taskForCall(step) }];
  }
  const steps = routine.steps.filter((each): each is BodyStep => each.type !== 'loop');
  if (steps.length < routine.steps.length)
    at.left('templateCall', 'loops of the routine: import it as a workflow of its own');
  const ignored = 'without its features, references, assessments and preconditions, which WorkRail ignores';
  at.kept('templateCall', `the ${steps.length} steps of ${routine.id} take its place, ${ignored}`);
  at.changed('id', `the steps of the routine are called ${step.id}-…`);
  at.changed('title', 'the steps of the routine have titles of their own');
  at.kept('runCondition', 'if of each of these steps');
  at.kept('requireConfirmation', 'with the last of these steps');
  for (const name of Object.keys(step.templateCall.args ?? {}))
    if (!JSON.stringify(steps).includes(`{${name}}`))
      at.left('templateCall', `no step has the argument ${name}`);
  at.rest('the steps of the routine take its place, as in WorkRail');
  return steps.map((each, index) => {
    const filled = withArguments(each, step, routine, at);
    const isLast = index === steps.length - 1;
    const requireConfirmation = each.requireConfirmation ?? (isLast ? step.requireConfirmation : undefined);
    return { path: undefined, step: { ...filled, requireConfirmation } };
  });
}

/** `{name}`, but neither `{{name}}` nor JSON. */
const ARGUMENT = /(?<!\{)\{([A-Za-z_]\w*)\}(?!\})/g;

function withArguments(
  inner: BodyStep,
  call: TaskStep,
  routine: WorkrailWorkflow,
  at: StepContext,
): BodyStep {
  const { args = {} } = call.templateCall ?? {};
  const fill = (text: string): string =>
    text.replace(ARGUMENT, (written, name: string) => {
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value !== undefined && typeof value !== 'object') return String(value);
      at.left('templateCall', `the routine asks for the argument ${written}, which is not given`);
      return written;
    });
  const common = {
    id: `${call.id}-${inner.id}`,
    title: fill(inner.title),
    runCondition: inner.runCondition ?? call.runCondition,
  };
  if (inner.type === 'parallel') return { ...inner, ...common };
  const guidance = [...(inner.guidance ?? []), ...(routine.metaGuidance ?? [])];
  return {
    ...inner,
    ...common,
    prompt: inner.prompt === undefined ? undefined : fill(inner.prompt),
    guidance: guidance.length === 0 ? undefined : guidance,
  };
}

function taskForCall({ templateCall, prompt = '', ...rest }: TaskStep): TaskStep {
  const { templateId = '', args = {} } = templateCall ?? {};
  const given = Object.entries(args).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const asked = `Work through the routine "${templateId.split('.').at(-1)}": do what its name says, thoroughly.`;
  return { ...rest, prompt: paragraphs(prompt, asked, bullets(given).join('\n')) };
}
