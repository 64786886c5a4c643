import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Model } from '../../models/model.ts';
import { compileCheck } from '../check-parameters.ts';
import type { Target } from '../target.ts';
import { readFilling } from '../tools/fill-template.ts';
import { askModel, noModel } from './ask-model.ts';
import { askedModel, modelOf } from './asked-model.ts';
import { BUILTIN_PROMPTS } from './builtin-prompts.ts';
import type { Prompt } from './prompt.ts';
import { readParameters } from './prompt-parameters.ts';

type OpenModel = (ref: string) => Promise<Model>;

/** The prompts of the manifest, then those that are built in and not replaced by one of the same name. */
export function* llmTargets(agent: AgentManifest, openModel: OpenModel): Generator<Target> {
  const open = openedOnce(openModel);
  for (const [name, { template, model, description }] of Object.entries(agent.prompts))
    yield llmTarget(name, manifestPrompt(name, template, description), agent, model, open);
  for (const [name, prompt] of Object.entries(BUILTIN_PROMPTS))
    if (!Object.hasOwn(agent.prompts, name))
      yield llmTarget(name, prompt, agent, Object.hasOwn(agent.models, 'fast') ? 'fast' : undefined, open);
}

function llmTarget(
  name: string,
  prompt: Prompt,
  agent: AgentManifest,
  own: string | undefined,
  open: OpenModel,
): Target {
  const what = `prompt "${name}"`;
  const check = compileCheck(prompt.parameters, what);
  return {
    kind: 'llm',
    name,
    description: prompt.description,
    parameters: prompt.parameters,
    idempotent: true,
    start: 'on_close',
    check(input) {
      const { given, model, problem } = readParameters(prompt, input, what);
      if (problem !== undefined) return problem;
      const asked = model === undefined ? undefined : askedModel(model, agent, what);
      return asked instanceof RuntimeError ? asked : check(given);
    },
    async run(call) {
      const { given, model: named, maxLength } = readParameters(prompt, call.input, what);
      const asked = named === undefined ? undefined : askedModel(named, agent, what);
      if (asked instanceof RuntimeError) throw asked;
      const model = modelOf(agent, call.model ?? asked ?? own);
      if (model === undefined) throw noModel(what);
      const { system } = prompt;
      const length =
        maxLength === undefined ? '' : `Answer in ${String(maxLength)} characters at the most.\n\n`;
      const message = length + prompt.message(given, call.agent());
      const text = await askModel(await open(model), { what, system, message }, call);
      return prompt.result(text, given);
    },
  };
}

/** Every `{name}` of the template is a parameter. */
function manifestPrompt(name: string, template: string, description: string | undefined): Prompt {
  const filling = readFilling(template, `prompt "${name}"`);
  return {
    description: description ?? `Asks a model: ${template.trim().split('\n')[0]?.slice(0, 120)}`,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(filling.names.map((parameter) => [parameter, {}])),
      required: filling.names,
      additionalProperties: false,
    },
    system: '',
    message: (input, agent) => filling.fill({ input, agent }),
    result: (text) => text,
  };
}

/** Each model is opened at its first call; one that could not be is tried again. */
function openedOnce(openModel: OpenModel): OpenModel {
  const opened = new Map<string, Promise<Model>>();
  return (ref) => {
    const known = opened.get(ref);
    if (known !== undefined) return known;
    const opening = openModel(ref);
    opened.set(ref, opening);
    opening.catch(() => opened.delete(ref));
    return opening;
  };
}
