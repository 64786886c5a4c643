import type { JsonObject } from '../../kernel/json.ts';
import { nameOf } from '../names.ts';
import type { Place } from '../report.ts';
import type { Around, Conversion } from './conversion.ts';
import { runCondition } from './convert-task.ts';
import { countedRounds } from './counted-rounds.ts';
import { forEachItem } from './for-each-item.ts';
import type { Convert, LoopInHand, PlacedBody } from './loop-body.ts';
import type { LoopStep } from './shape-step.ts';
import { plainText } from './to-template.ts';

/** A loop: rounds that are counted, or one for each item. */
export function convertLoop(
  step: LoopStep,
  body: readonly PlacedBody[],
  around: Around,
  c: Conversion,
  convert: Convert,
): readonly JsonObject[] {
  const place: Place = { step: step.id, path: around.path };
  const name = c.stepNames.take(nameOf(step.id));
  const { report } = c;
  report.note(place, 'id', name === step.id ? 'kept' : 'changed', `the step ${name}`);
  report.note(place, 'title', 'kept', 'description');
  report.note(
    place,
    'body',
    typeof step.body === 'string' ? 'changed' : 'kept',
    typeof step.body === 'string' ? `the step ${step.body} stands inside` : 'body',
  );
  if (step.requireConfirmation === false)
    report.note(place, 'requireConfirmation', 'kept', 'nobody is asked');
  else if (step.requireConfirmation !== undefined)
    report.note(
      place,
      'requireConfirmation',
      'left',
      'WorkRail never asks at a loop either: ask in a step of its body',
    );
  if (step.functionDefinitions !== undefined)
    report.note(place, 'functionDefinitions', 'kept', 'in the prompts of the steps that refer to them');
  if (step.notesOptional !== undefined) report.note(place, 'notesOptional', 'kept', 'a loop has no notes');
  const test = runCondition(step, place, around, c);
  const common = { description: plainText(step.title), ...(test === undefined ? {} : { if: test }) };
  const inside = { ...around, functions: step.functionDefinitions ?? [] };
  const inHand: LoopInHand = { step, name, common, body, around: inside, place, convert };
  const made = step.loop.type === 'forEach' ? forEachItem(inHand, c) : countedRounds(inHand, c);
  const loop = made.find((each) => each.name === name);
  if (loop !== undefined) c.origins.set(loop, step.id);
  return made;
}
