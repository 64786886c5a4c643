import type { Place } from '../report.ts';
import type { Conversion } from './conversion.ts';
import type { PlacedBody } from './loop-body.ts';
import type { WorkrailWorkflow } from './shape.ts';
import type { BodyStep, TaskStep } from './shape-step.ts';

/** The id that a routine is called by. */
export const templateIdOf = (id: string): string =>
  `wr.templates.routine.${id.replace(/^(?:wr\.)?routine-/, '')}`;

/**
 * A step that calls a template becomes the steps of the routine, where it is at hand: with the arguments put in, the
 * caller's condition where a step has none of its own, and the routine's rules as guidance.
 */
export function expandTemplate(placed: PlacedBody, c: Conversion): readonly PlacedBody[] {
  const { step } = placed;
  if (step.type !== undefined || step.templateCall === undefined) return [placed];
  const place: Place = { step: step.id, path: placed.path };
  const { templateId, args = {} } = step.templateCall;
  const routine = c.options.routine(templateId);
  if (routine === undefined) {
    c.report.note(
      place,
      'templateCall',
      'left',
      `${templateId} is not at hand: name its file as well, or put it beside this one; until then a task asks for it by name`,
    );
    return [{ ...placed, step: standIn(step) }];
  }
  const steps = routine.steps.filter((each): each is BodyStep => each.type !== 'loop');
  if (steps.length < routine.steps.length)
    c.report.note(place, 'templateCall', 'left', 'loops of the routine: import it as a workflow of its own');
  c.report.note(
    place,
    'templateCall',
    'kept',
    `the ${steps.length} steps of ${routine.id} stand in its place`,
  );
  c.report.note(place, 'id', 'changed', `the steps of the routine are called ${step.id}-…`);
  c.report.note(place, 'title', 'left', 'the steps of the routine have titles of their own');
  for (const key of Object.keys(step))
    if (!CARRIED.includes(key))
      c.report.note(place, key, 'left', 'the steps of the routine stand in its place, as in WorkRail');
  for (const key of [
    'features',
    'references',
    'assessments',
    'preconditions',
    'clarificationPrompts',
  ] as const)
    if (routine[key] !== undefined)
      c.report.note(
        place,
        `templateCall.${key}`,
        'left',
        `${key} of the routine: WorkRail does not bring them either`,
      );
  return steps.map((each, index) => ({
    path: undefined,
    step: filledIn(each, step, args, routine, index === steps.length - 1, place, c),
  }));
}

/** What a call brings to the steps of its routine, or is spoken of already. */
const CARRIED: readonly string[] = ['id', 'title', 'templateCall', 'runCondition', 'requireConfirmation'];

function filledIn(
  inner: BodyStep,
  caller: TaskStep,
  args: Readonly<Record<string, unknown>>,
  routine: WorkrailWorkflow,
  isLast: boolean,
  place: Place,
  { report }: Conversion,
): BodyStep {
  const fill = (text: string): string =>
    text.replace(ARGUMENT, (written, name: string) => {
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value === undefined || typeof value === 'object') {
        report.note(
          place,
          'templateCall',
          'left',
          `the routine asks for the argument ${written}, which is not given`,
        );
        return written;
      }
      return String(value);
    });
  const condition = inner.runCondition ?? caller.runCondition;
  const asks = isLast ? (inner.requireConfirmation ?? caller.requireConfirmation) : inner.requireConfirmation;
  const common = {
    id: `${caller.id}-${inner.id}`,
    title: fill(inner.title),
    ...(condition === undefined ? {} : { runCondition: condition }),
    ...(asks === undefined ? {} : { requireConfirmation: asks }),
  };
  if (caller.runCondition !== undefined)
    report.note(place, 'runCondition', 'kept', 'if of each of these steps');
  if (caller.requireConfirmation !== undefined)
    report.note(place, 'requireConfirmation', 'kept', 'with the last of these steps');
  if (inner.type === 'parallel') return { ...inner, ...common };
  const guidance = [...(inner.guidance ?? []), ...(routine.metaGuidance ?? [])];
  return {
    ...inner,
    ...common,
    ...(inner.prompt === undefined ? {} : { prompt: fill(inner.prompt) }),
    ...(guidance.length === 0 ? {} : { guidance }),
  };
}

/** `{name}`, but neither `{{name}}` nor JSON. */
const ARGUMENT = /(?<!\{)\{([A-Za-z_]\w*)\}(?!\})/g;

function standIn(step: TaskStep): TaskStep {
  const { templateCall, ...rest } = step;
  const args = Object.entries(templateCall?.args ?? {});
  const given = args.map(
    ([name, value]) => `- ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const asked = [
    `Work through the routine "${templateCall?.templateId.split('.').at(-1)}": do what its name says, thoroughly.`,
    ...(given.length === 0 ? [] : ['It is given:', ...given]),
  ].join('\n');
  return { ...rest, prompt: rest.prompt === undefined ? asked : `${rest.prompt}\n\n${asked}` };
}
