import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import { fullModelRef, isModelRef } from '../../manifest/schema/model-ref.ts';
import { clip } from '../../manifest/schema/show-value.ts';
import type { Target } from '../target.ts';

/** The models that a manifest names. */
export interface AgentModels {
  readonly model?: string | undefined;
  readonly models: Readonly<Record<string, string>>;
}

/** A name of `models`, a model by itself, or the agent's own. */
export function modelOf({ model, models }: AgentModels, named: string | undefined): string | undefined {
  if (named === undefined) return model;
  return Object.hasOwn(models, named) ? models[named] : isModelRef(named) ? named : model;
}

/**
 * The model that an action asks for: of those that the manifest names, since others cost what nobody agreed to. Its
 * provider may be left out.
 */
export function askedModel(
  asked: unknown,
  { model, models }: AgentModels,
  what: string,
): string | RuntimeError {
  if (typeof asked === 'string') {
    if (Object.hasOwn(models, asked)) return asked;
    const full = fullModelRef(asked);
    for (const ref of [model, ...Object.values(models)])
      if (ref !== undefined && (fullModelRef(ref) === full || withoutProvider(ref) === asked)) return ref;
  }
  return new RuntimeError(
    'bad_parameters',
    `The parameters of ${what} are wrong: "/model" is ${clip(JSON.stringify(asked))}, which is no model of this agent.`,
    { hint: suggest(String(asked), Object.keys(models), 'Names in "models"') },
  );
}

/** Parameters with the model taken out, unless the target has a parameter of that name itself. */
export function withoutModel(
  { kind, parameters: { properties } }: Target,
  parameters: JsonObject,
): { readonly input: JsonObject; readonly model?: Json } {
  const { model, ...input } = parameters;
  const isOwn = kind !== 'llm' || (isMap(properties) && Object.hasOwn(properties, 'model'));
  return isOwn || model === undefined ? { input: parameters } : { input, model };
}

const withoutProvider = (ref: string): string | undefined =>
  ref.startsWith('scripted:') ? undefined : ref.slice(ref.indexOf('/') + 1);
