import { isModelRef } from '../../manifest/schema/model-ref.ts';
import { withoutModel } from '../../targets/llm/asked-model.ts';
import type { LeafPlace, ReadyLeaf } from '../leaf.ts';
import { callTarget, checkedTarget, noAgent, targetCall } from './call-target.ts';
import type { LeafContext, PrepareLeaf, StepOf } from './leaf-edges.ts';
import { resolveMap, stepWhat } from './resolve-in-step.ts';
import { textOfParameters } from './text-of-parameters.ts';

/** Asks a model once: by a prompt of the agent, or by one of the step's own. */
export const prepareLlm: PrepareLeaf<'llm'> = async (step, place, context) => {
  const parameters = await resolveMap(step.parameters, 'parameters', place, context);
  if (step.target === undefined) return ownPrompt(step, place, parameters, context);
  const found = context.targets.find('llm', step.target);
  const written = found && withoutModel(found, parameters);
  // The author may name any model. One that comes out of a reference is asked for as in an action.
  const model = written?.model === step.parameters.model ? written?.model : undefined;
  const isAuthors = typeof model === 'string' && isModelRef(model);
  const input = written !== undefined && isAuthors ? written.input : parameters;
  const target = checkedTarget('llm', step.target, input, context);
  return {
    input,
    repeatable: true,
    run: (call) =>
      callTarget(target, call, context, { model: step.model ?? (isAuthors ? model : undefined) }),
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
