import { deepEqual } from '../../conditions/deep-equal.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LeafCall } from '../leaf.ts';
import { askPerson, type PersonsWord, TIMEOUT } from './ask-person.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './leaf-edges.ts';
import { resolveInStep, stepWhat } from './resolve-in-step.ts';

/** The options where a step names none; only there is `reject` a failure, elsewhere it is an answer like any other. */
const DEFAULT_OPTIONS: readonly string[] = ['approve', 'reject'];

/** Waits for a person. Results in `{choice, by, note?}`. */
export const prepareApproval: PrepareLeaf<'approval'> = async (step, place, context) => {
  const { options, assignee } = step;
  const prompt = await context.decisions.prompt(step, place.address, place.locals);
  const who = assignee === undefined ? undefined : await resolveInStep(assignee, place, context);
  const named = typeof who === 'string' ? { assignee: who } : {};
  return {
    input: { prompt, options, ...named },
    repeatable: true, // the question is on the log, and put once
    timesItself: true,
    async run(call) {
      const { timeout } = step;
      const due = timeout === undefined ? {} : { due: context.clock.now() + timeout.ms };
      const question = { prompt: String(call.input.prompt), options, ...named, ...due };
      return outcome(step, await askPerson(question, call, context), call, context);
    },
  };
};

function outcome(step: StepOf<'approval'>, word: PersonsWord, call: LeafCall, context: LeafContext): Json {
  const what = stepWhat({ step });
  if (word.answer === 'due') return late(step, what, call, context);
  const { answer, choice, by, note } = word;
  const isRefusal = deepEqual(step.options, DEFAULT_OPTIONS) || !step.options.includes(choice);
  if (answer === 'withdrawn') throw withdrawn(what, note);
  if (answer === 'rejected' && isRefusal) throw rejected(what, by, note);
  return { choice, by, ...(note === undefined ? {} : { note }) };
}

function late(step: StepOf<'approval'>, what: string, call: LeafCall, context: LeafContext): Json {
  const { on_timeout: choice } = step;
  const open = context.journal.state.reviews.find(
    ({ step: asker, answer }) => asker === call.address && answer === undefined,
  );
  const fails = choice === 'fail';
  const answer = fails ? 'withdrawn' : choice === 'reject' ? 'rejected' : 'approved';
  if (open !== undefined) context.reviews.close(open.review, { answer, choice, by: TIMEOUT });
  if (fails) throw nobodyAnswered(what, step.timeout?.ms ?? 0);
  return outcome(step, { answer, choice, by: TIMEOUT }, call, context);
}

const rejected = (what: string, by: string, note: string | undefined) =>
  new RuntimeError(
    'rejected',
    `${capital(what)} was rejected by ${by}${note === undefined ? '.' : `: ${note}`}`,
    {
      hint: 'With "on_error" or a "try" around it the run can go another way; with "options" of its own, rejecting is a result.',
    },
  );

const withdrawn = (what: string, note: string | undefined) =>
  new RuntimeError(
    'cancelled',
    `The question of ${what} was withdrawn${note === undefined ? '.' : `: ${note}`}`,
  );

const nobodyAnswered = (what: string, ms: number) =>
  new RuntimeError('timeout', `Nobody answered ${what} within ${ms / 1000} s.`, {
    hint: 'Give it a longer "timeout", or say by "on_timeout" which of the options counts then.',
    retryable: true,
  });

const capital = (text: string) => text.replace(/^./, (first) => first.toUpperCase());
