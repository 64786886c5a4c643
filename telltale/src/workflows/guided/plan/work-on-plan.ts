import type { PlanState } from '../../../events/run-state.ts';
import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { noAgent, targetCall } from '../../steps/call-target.ts';
import { stepWhat } from '../../steps/resolve-in-step.ts';
import { approvePlan } from './approve-plan.ts';
import { checkPlan } from './check-plan.ts';
import { type DoneAction, doneIn } from './done-action.ts';
import { executePlan } from './execute-plan.ts';
import { nextTurn, type PlanCase, plansOf } from './plan-case.ts';
import { planFailed } from './plan-errors.ts';
import { MAX_PLANS } from './plan-limits.ts';
import { type Past, planningText } from './planning-text.ts';
import { readPlan } from './read-plan.ts';
import type { Trouble } from './trouble.ts';
import { workedActions } from './worked-actions.ts';
import { writeNotes } from './write-notes.ts';

/**
 * Plans, has it approved, executes it, has the notes written: from where the log left it. The first trouble gives the
 * model another plan, told what happened; the second fails the step.
 */
export async function workOnPlan(the: PlanCase): Promise<Json> {
  const what = stepWhat(the.call);
  for (;;) {
    const current = plansOf(the).at(-1) ?? (await makePlan(1, the));
    const carried = await carryOut(current, the);
    if (carried.kind === 'done') return outputOf(carried.notes, doneIn(plansOf(the)));
    const { trouble } = carried;
    const isFinal = trouble.kind === 'rejected' && trouble.note === undefined; // a person said no, and nothing else
    if (isFinal || current.nth >= MAX_PLANS) throw planFailed(what, trouble, current.nth);
    const past = { plan: current.plan, done: doneIn(plansOf(the)), trouble };
    try {
      await makePlan(current.nth + 1, the, past);
    } catch (thrown) {
      the.call.signal.throwIfAborted();
      throw planFailed(what, trouble, current.nth, thrown);
    }
  }
}

/** One request to the model. What comes back is on the log, whether or not it can be executed. */
async function makePlan(nth: number, the: PlanCase, past?: Past): Promise<PlanState> {
  const { prompt, callables, step, call, context } = the;
  const message = planningText(prompt, callables, past);
  const read = await answered(
    () =>
      context.ask(
        { what: stepWhat(call), message, model: step.model, turn: nextTurn(the) },
        targetCall(call, noAgent, context),
      ),
    readPlan,
  );
  call.signal.throwIfAborted();
  const plan = read.ok ? read.value : [];
  const problem = read.ok ? checkPlan(plan, callables, past?.done.length ?? 0) : read.error;
  context.journal.append(
    {
      type: 'plan.made',
      step: call.address,
      attempt: call.attempt,
      nth,
      plan,
      ...(problem === undefined ? {} : { problem }),
    },
    call.cause,
  );
  const made = plansOf(the).find((each) => each.nth === nth);
  if (made === undefined) throw notWritten();
  return made;
}

/** Another process works on the run by now: this one is about to be told so. */
const notWritten = () => new RuntimeError('cancelled', 'The log of the run takes nothing more from here.');

const UNREADABLE: ReadonlySet<string> = new Set(['bad_output', 'output_too_large']);

/** An answer that is too long or was cut off is a plan that cannot be used; other failures are the model's. */
async function answered(
  ask: () => Promise<string>,
  read: typeof readPlan,
): Promise<ReturnType<typeof readPlan>> {
  try {
    return read(await ask());
  } catch (thrown) {
    if (thrown instanceof RuntimeError && UNREADABLE.has(thrown.code))
      return { ok: false, error: `${thrown.message} ${thrown.hint ?? ''}`.trim() };
    throw thrown;
  }
}

type Carried =
  | { readonly kind: 'done'; readonly notes: string }
  | { readonly kind: 'trouble'; readonly trouble: Trouble };

async function carryOut(current: PlanState, the: PlanCase): Promise<Carried> {
  const { problem } = current;
  const trouble: Trouble | undefined =
    problem === undefined
      ? ((await approvePlan(current, the)) ?? (await executePlan(current, the)))
      : { kind: 'unusable', problem };
  if (trouble !== undefined) return { kind: 'trouble', trouble };
  const done = doneIn(plansOf(the));
  if (the.step.verify === undefined) return { kind: 'done', notes: await writeNotes(done, the) };
  return verified(current, done, the);
}

/** With a verifier the notes are on the log before it is asked: its word may take days. */
async function verified(current: PlanState, done: readonly DoneAction[], the: PlanCase): Promise<Carried> {
  const { prompt, step, call, context, verify } = the;
  const { address, attempt, cause } = call;
  const { nth } = current;
  const { journal } = context;
  const known = journal.state.steps.get(address)?.guided?.claims.find((claim) => claim.nth === nth);
  const notes = known?.notes ?? (await writeNotes(done, the));
  if (known === undefined)
    journal.append(
      {
        type: 'step.claimed',
        step: address,
        attempt,
        nth,
        by: 'plan',
        notes,
        turns: nextTurn(the),
      },
      cause,
    );
  const claim = { nth, prompt, notes, work: workedActions(done), isLast: nth >= MAX_PLANS };
  const verdict = await verify(step, claim, call, context);
  if (verdict.kind === 'pass') return { kind: 'done', notes };
  return { kind: 'trouble', trouble: { kind: 'judged', by: verdict.by, text: verdict.text } };
}

const outputOf = (notes: string, done: readonly DoneAction[]): Json => ({
  notes,
  results: done.map(({ planned, output }) => ({ action: planned.action, output })),
});
