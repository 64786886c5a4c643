import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { type Around, type Conversion, celOf } from './conversion.ts';
import type { Condition } from './shape-condition.ts';
import type { ParallelStep, TaskStep } from './shape-step.ts';
import { allOf } from './to-cel.ts';
import { plainText } from './to-template.ts';
import { isModelsGate } from './verifier.ts';

/**
 * A task with who is asked about it. WorkRail's gate closes behind a step whose output is valid, and looks at what the
 * step has just set; `before` asks whether it may begin instead.
 */
export function confirmed(
  step: TaskStep | ParallelStep,
  task: JsonObject,
  place: Place,
  around: Around,
  c: Conversion,
  test: string | undefined,
): readonly JsonObject[] {
  const { requireConfirmation: rule } = step;
  const { report, options } = c;
  if (rule === undefined) return [task];
  if (rule === false) {
    report.note(place, 'requireConfirmation', 'kept', 'nobody is asked');
    return [task];
  }
  if (step.type === undefined && isModelsGate(step)) return [task];
  const condition = conditionOf(rule);
  const when =
    condition === undefined ? undefined : celOf(condition, 'requireConfirmation', place, around.names, c);
  const isAlways = when === undefined || when === 'true';
  if (options.confirm === 'before' && isAlways) {
    report.note(place, 'requireConfirmation', 'changed', 'confirm: a person says whether the step may begin');
    return [{ ...task, confirm: plainText(`May this begin: ${step.title}?`) }];
  }
  const name = String(task.name);
  const isAfter = options.confirm === 'after';
  const gate: JsonObject = {
    name: c.stepNames.take(`${name}-confirm`),
    type: 'approval',
    prompt: isAfter
      ? `${plainText(step.title)} is done. May it go on?\n\n\${steps.${name}.output.notes ?? ''}`
      : plainText(`May this begin: ${step.title}?`),
  };
  const where = isAfter ? 'behind the step' : 'before the step';
  report.note(
    place,
    'requireConfirmation',
    'changed',
    isAlways
      ? `approval ${where}: a person says whether it goes on`
      : `approval ${where} in a switch: a person is asked where the condition holds, which goes by what the agent sets`,
  );
  const asked = isAlways
    ? { ...gate, ...(test === undefined ? {} : { if: ran(name, test, isAfter) }) }
    : {
        name: c.stepNames.take(`${name}-gate`),
        type: 'switch',
        ...(test === undefined ? {} : { if: ran(name, test, isAfter) }),
        cases: [{ if: when, body: [gate] }],
      };
  return isAfter ? [task, asked] : [asked, task];
}

/** Behind a step that may have been skipped: what its condition read may have changed since. */
const ran = (name: string, test: string, isAfter: boolean): string =>
  isAfter ? `steps[${JSON.stringify(name)}].status == "completed"` : (allOf([test]) ?? 'true');

function conditionOf(
  rule: Exclude<TaskStep['requireConfirmation'], undefined | boolean> | true,
): Condition | undefined {
  if (rule === true) return undefined;
  return 'kind' in rule ? rule.condition : rule;
}
