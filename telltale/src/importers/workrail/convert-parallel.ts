import type { JsonObject } from '../../kernel/json.ts';
import { nameOf } from '../names.ts';
import type { Place } from '../report.ts';
import { confirmed } from './confirm.ts';
import { type Around, type Conversion, celOf, templateOf } from './conversion.ts';
import { runCondition, SHORT_NOTES } from './convert-task.ts';
import { followUps } from './follow-ups.ts';
import type { ParallelStep } from './shape-step.ts';
import { allOf } from './to-cel.ts';
import { plainText } from './to-template.ts';

const TIER_TEXTS = {
  lightweight: 'a small and fast one will do',
  mid: 'one of middling ability',
  heavy: 'the most capable one that there is',
};

type Delegation = ParallelStep['parallelDelegations'][number];

/** Parallel work: one task that asks the agent to hand it out, as WorkRail's own prompt does. */
export function convertParallel(step: ParallelStep, around: Around, c: Conversion): readonly JsonObject[] {
  const place: Place = { step: step.id, path: around.path };
  const { report } = c;
  const name = c.stepNames.take(nameOf(step.id));
  report.note(place, 'id', name === step.id ? 'kept' : 'changed', `the task ${name}`);
  report.note(place, 'title', 'kept', 'heading of the prompt, and description');
  report.note(
    place,
    'parallelDelegations',
    'changed',
    'one task that asks the agent to hand the work out, each part a fragment; the agent needs agents or workflows to hand it to',
  );
  if (step.notesOptional === true)
    report.note(place, 'notesOptional', 'changed', 'a sentence of the prompt: one sentence of notes will do');
  if (step.notesOptional === false) report.note(place, 'notesOptional', 'kept', 'as every task');
  const test = allOf([around.guard, runCondition(step, place, around, c)]);
  const task: JsonObject = {
    name,
    type: 'task',
    description: plainText(step.title),
    ...(test === undefined ? {} : { if: test }),
    prompt: templateOf(
      `# ${step.title}\n\nHave the parts below done side by side, each by an agent of its own with nothing but what stands here; do them one after the other where you have nobody to give them to. Wait for all of them. Where no part follows, there is nothing to do: say so.${step.notesOptional === true ? ` ${SHORT_NOTES}` : ''}`,
      'title',
      place,
      around.names,
      c,
    ),
    fragments: step.parallelDelegations.map((each) => fragmentOf(each, place, around, c)),
  };
  const steps = confirmed(step, task, place, around, c, test);
  c.origins.set(steps.find((each) => each.name === name) ?? task, step.id);
  return [...steps, ...followUps(step, place, around, c, test)];
}

function fragmentOf(delegation: Delegation, place: Place, around: Around, c: Conversion): JsonObject {
  const {
    workflowId,
    goal,
    runCondition: when,
    contextMapping = {},
    args = {},
    modelTier,
    allowedTools,
  } = delegation;
  const key = `parallelDelegations ${workflowId}`;
  if (modelTier !== undefined)
    c.report.note(place, key, 'changed', 'modelTier: a line of the part says which model is meant');
  const given = [
    ...Object.entries(contextMapping).map(([from, to]) => `- ${to}: {{${from}}}`),
    ...Object.entries(args).map(([to, value]) => `- ${to}: ${value}`),
  ];
  const text = [
    `## ${workflowId}`,
    ...(goal === undefined ? [] : [`Goal: ${goal}`]),
    ...(modelTier === undefined ? [] : [`Model: ${TIER_TEXTS[modelTier]}`]),
    ...(allowedTools === undefined ? [] : [`Tools: ${allowedTools.join(', ')}`]),
    ...(given.length === 0 ? [] : ['It gets:', ...given]),
  ].join('\n');
  const words = templateOf(text, key, place, around.names, c);
  return when === undefined ? { text: words } : { if: celOf(when, key, place, around.names, c), text: words };
}
