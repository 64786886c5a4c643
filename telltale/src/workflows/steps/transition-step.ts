import { asText } from '../../conditions/as-text.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import { noAgent, targetCall } from './call-target.ts';
import { chosenAnswer } from './chosen-answer.ts';
import type { PrepareLeaf } from './leaf-edges.ts';
import { stepWhat } from './resolve-in-step.ts';

/** Decides the next state: by a model's answer, or by an artifact. */
export const prepareTransition: PrepareLeaf<'transition'> = async (step, place, context) => {
  const { decisions, workflow } = context;
  if ('transition_source' in step)
    return {
      input: {},
      repeatable: true,
      async run() {
        const map = 'transition_map' in step ? step.transition_map : undefined;
        const answers = Object.keys(map ?? workflow.states ?? {});
        const at = `${place.address}:transition_source`;
        const answer = asText(await decisions.answer(at, step.transition_source, answers, place.locals));
        // A fallback may be an answer, or name a state.
        return map !== undefined && Object.hasOwn(map, answer)
          ? { state: map[answer] ?? '', answer }
          : { state: answer };
      },
    };
  const { transition_map: map, model } = step;
  const answers = Object.keys(map);
  const what = stepWhat(place);
  const prompt = await decisions.prompt(step, place.address, place.locals);
  return {
    input: { prompt, answers },
    repeatable: true,
    async run(call) {
      const message = `${String(call.input.prompt)}\n\nAnswer with one of these, and with nothing else: ${answers.join(', ')}`;
      const said = await context.ask({ what, message, model }, targetCall(call, noAgent, context));
      const answer = chosenAnswer(said, answers);
      const state = answer === undefined ? undefined : map[answer];
      if (answer === undefined || state === undefined) throw noAnswer(what, said, answers);
      return { state, answer };
    },
  };
};

const noAnswer = (what: string, said: string, answers: readonly string[]) =>
  new RuntimeError(
    'no_answer',
    `The model chose none of the answers of ${what}: it said ${showValue(said)}.`,
    {
      hint: `Answers: ${answers.join(', ')}. Say in the prompt when each is right; "retry" asks again.`,
      retryable: true,
    },
  );
