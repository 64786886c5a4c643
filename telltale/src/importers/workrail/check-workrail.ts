import type { Json } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import type { Issue, IssuePath } from '../../manifest/issue.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { WorkrailWorkflow } from './shape.ts';
import type { BodyStep, LoopStep, TaskStep } from './shape-step.ts';
import { stepsOf } from './steps-of.ts';

const LISTS = ['preconditions', 'clarificationPrompts', 'metaGuidance', 'features'];

/** Entries that stand in a list twice: WorkRail refuses them, and nothing is lost by them. */
export function checkEntries(value: Json): readonly Issue[] {
  if (!isMap(value)) return [];
  return LISTS.flatMap((key) => {
    const list = value[key];
    if (!Array.isArray(list)) return [];
    return list.flatMap((entry, index) =>
      list.indexOf(entry) < index
        ? [warning([key, index], 'duplicate', `Entry ${index + 1} of "${key}" stands there already.`)]
        : [],
    );
  });
}

/** What no schema of one value can see. */
export function checkWorkrail(workflow: WorkrailWorkflow): readonly Issue[] {
  const steps = [...stepsOf(workflow)];
  const ids = steps.map(({ step }) => step.id);
  const assessments = (workflow.assessments ?? []).map(({ id }) => id);
  return [
    ...(workflow.version === undefined
      ? [warning([], 'missing', 'The workflow has no "version", which WorkRail asks for.')]
      : []),
    ...steps.flatMap(({ step: { id }, path }, index) =>
      ids.indexOf(id) < index ? [error([...path, 'id'], 'duplicate', `Two steps have the id "${id}".`)] : [],
    ),
    ...steps.flatMap(({ step, path }) => {
      if (step.type === 'loop') return checkLoop(step, path, workflow);
      return step.type === 'parallel' ? [] : checkTask(step, path, assessments);
    }),
  ];
}

function checkTask(step: TaskStep, path: IssuePath, assessments: readonly string[]): readonly Issue[] {
  const { prompt, promptBlocks, promptFragments, templateCall, assessmentRefs = [] } = step;
  const isEmpty = (prompt ?? promptBlocks ?? promptFragments ?? templateCall) === undefined;
  return [
    ...(isEmpty ? [error(path, 'missing', 'A step needs "prompt", "promptBlocks" or "templateCall".')] : []),
    ...assessmentRefs.flatMap((ref, index) =>
      assessments.includes(ref)
        ? []
        : [
            error(
              [...path, 'assessmentRefs', index],
              'unknown_assessment',
              `There is no assessment "${ref}".`,
              suggest(ref, assessments, 'Assessments'),
            ),
          ],
    ),
  ];
}

function checkLoop({ loop, body }: LoopStep, path: IssuePath, { steps }: WorkrailWorkflow): readonly Issue[] {
  const at = [...path, 'loop'];
  return [...checkKind(loop, at), ...(typeof body === 'string' ? checkBody(body, path, steps) : [])];
}

function checkKind(
  { type, condition, conditionSource, count, items }: LoopStep['loop'],
  at: IssuePath,
): readonly Issue[] {
  switch (type) {
    case 'while':
    case 'until': {
      if (conditionSource?.kind === 'context_variable' && conditionSource.condition === undefined)
        return [error([...at, 'conditionSource'], 'missing', 'It needs "condition" beside its kind.')];
      return condition === undefined && conditionSource === undefined
        ? [error(at, 'missing', `A loop of type ${type} needs "condition" or "conditionSource".`)]
        : [];
    }
    case 'for':
      return count === undefined ? [error(at, 'missing', 'A loop of type for needs "count".')] : [];
    case 'forEach':
      return items === undefined ? [error(at, 'missing', 'A loop of type forEach needs "items".')] : [];
  }
}

function checkBody(body: string, path: IssuePath, steps: WorkrailWorkflow['steps']): readonly Issue[] {
  const bodies = steps.filter((step): step is BodyStep => step.type !== 'loop').map(({ id }) => id);
  if (bodies.includes(body)) return [];
  const message = `There is no step "${body}" for the loop to run.`;
  return [error([...path, 'body'], 'unknown_step', message, suggest(body, bodies, 'Steps'))];
}

const issue =
  (severity: Issue['severity']) =>
  (path: IssuePath, code: string, message: string, hint?: string): Issue => ({
    severity,
    code,
    path,
    at: 'value',
    message,
    ...(hint === undefined ? {} : { hint }),
  });
const error = issue('error');
const warning = issue('warning');
