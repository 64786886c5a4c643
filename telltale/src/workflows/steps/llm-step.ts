import type { LeafPlace, ReadyLeaf } from '../leaf.ts';
import { callTarget, checkedTarget, noAgent, targetCall } from './call-target.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './leaf-edges.ts';
import { resolveMap, stepWhat } from './resolve-in-step.ts';
import { textOfParameters } from './text-of-parameters.ts';

/** Asks a model once: by a prompt of the agent, or by one of the step's own. */
export const prepareLlm: PrepareLeaf<'llm'> = async (step, place, context) => {
  const parameters = await resolveMap(step.parameters, 'parameters', place, context);
  if (step.target === undefined) return ownPrompt(step, place, parameters, context);
  const target = checkedTarget('llm', step.target, parameters, context);
  return {
    input: parameters,
    repeatable: true,
    run: (call) => callTarget(target, call, context, { model: step.model }),
  };
};

async function ownPrompt(
  step: StepOf<'llm'>,
  place: LeafPlace,
  parameters: ReadyLeaf['input'],
  context: LeafContext,
): Promise<ReadyLeaf> {
  const text = await context.decisions.prompt(step, place.address, place.locals);
  return {
    input: { prompt: textOfParameters(text, parameters) },
    repeatable: true,
    async run(call) {
      const question = { what: stepWhat(place), message: String(call.input.prompt), model: step.model };
      return context.ask(question, targetCall(call, noAgent, context));
    },
  };
}
