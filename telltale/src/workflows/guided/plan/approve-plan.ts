import { deepEqual } from '../../../conditions/deep-equal.ts';
import type { PlanState } from '../../../events/run-state.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { askPerson } from '../../steps/ask-person.ts';
import { stepWhat } from '../../steps/resolve-in-step.ts';
import { doneIn } from './done-action.ts';
import { type PlanCase, plansOf } from './plan-case.ts';
import { shown } from './plan-errors.ts';
import { MAX_PLANS } from './plan-limits.ts';
import type { Trouble } from './trouble.ts';

/**
 * Waits for a person's word on this very plan, where the step wants one: what is executed is what they saw. Undefined
 * where it may be executed.
 */
export async function approvePlan(current: PlanState, the: PlanCase): Promise<Trouble | undefined> {
  const { step, call, context } = the;
  if (step.approval !== 'always') return undefined;
  const input: JsonObject = { plan: current.nth, actions: current.plan as unknown as Json };
  const word = wordOnLog(input, the) ?? (await askPerson(questionOn(current, input, the), call, context));
  const { answer, by, note } = word;
  if (answer === 'approved') return undefined;
  if (answer !== 'rejected') throw withdrawn(stepWhat(call), note);
  return { kind: 'rejected', by, ...(note === undefined || note.trim() === '' ? {} : { note }) };
}

/** An answer stays where it is on the log, whatever the step asks people later. */
function wordOnLog(input: JsonObject, { call, context }: PlanCase) {
  const { reviews, steps } = context.journal.state;
  const began = steps.get(call.address)?.cause.seq ?? 0;
  const found = reviews.findLast(
    ({ step, kind, seq, call: about }) =>
      step === call.address && kind === 'plan' && seq >= began && deepEqual(about?.input, input),
  );
  if (found?.answer !== 'approved' && found?.answer !== 'rejected') return undefined;
  const { answer, by = '', note } = found;
  return { answer, by, note };
}

const questionOn = (current: PlanState, input: JsonObject, the: PlanCase) => ({
  kind: 'plan' as const,
  prompt: planText(current, the),
  options: ['approve', 'reject'],
  call: { target: `the plan of ${stepWhat(the.call)}`, because: 'approval: always', input, grants: [] },
});

function planText({ nth, plan }: PlanState, the: PlanCase): string {
  const done = doneIn(plansOf(the).filter((each) => each.nth < nth));
  const before =
    done.length === 0
      ? []
      : [
          `Done before: ${done.map(({ planned: { action }, output }, at) => `results[${at}] ${action} gave ${shown(output, 200)}`).join('; ')}`,
        ];
  const lines = plan.map(
    ({ action, parameters, expect }, index) =>
      `${index + 1}. ${action} ${JSON.stringify(parameters)}${expect === undefined ? '' : `\n   expects ${expect}`}`,
  );
  return [
    `Execute this plan${nth > 1 ? ', the second one' : ''}?`,
    ...before,
    lines.join('\n'),
    nth < MAX_PLANS
      ? 'Rejected with a note, it is planned once more with that in view; without a note, the step fails.'
      : 'Rejected, the step fails: there is no third plan.',
  ].join('\n\n');
}

const withdrawn = (what: string, note: string | undefined) =>
  new RuntimeError(
    'cancelled',
    `The question on the plan of ${what} was withdrawn${note === undefined ? '.' : `: ${note}`}`,
  );
