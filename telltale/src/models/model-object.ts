import { knownContextWindow } from './context-windows.ts';
import type { Model } from './model.ts';
import { modelFacts } from './prices.ts';
import { fromLanguageModel } from './providers/from-language-model.ts';
import type { LanguageModel, ProviderOptions } from './providers/language-model.ts';

/** A model object of a program: its own Model, or a model of any AI SDK provider. */
export type ModelObject = Model | LanguageModel;

const VERSIONS: readonly unknown[] = ['v2', 'v3', 'v4'];

/** The hint for any other value. */
export const MODEL_HINT =
  'Give "provider/model", "scripted:FILE", a model of the AI SDK (anthropic("claude-sonnet-4-5"), of a package with specification v2 to v4), or an object with "id" and "stream(request, sink)".';

export const isModelObject = (value: unknown): value is ModelObject => {
  const { id, stream } = Object(value) as Partial<Record<string, unknown>>;
  return (typeof id === 'string' && typeof stream === 'function') || isLanguageModel(value);
};

function isLanguageModel(value: unknown): value is LanguageModel {
  const { specificationVersion, provider, modelId, doStream } = Object(value) as Partial<
    Record<string, unknown>
  >;
  return (
    VERSIONS.includes(specificationVersion) &&
    typeof provider === 'string' &&
    typeof modelId === 'string' &&
    typeof doStream === 'function'
  );
}

const made = new WeakMap<LanguageModel, Model>();

/** The Model for an object. The same object always returns the same Model. */
export function modelOf(given: ModelObject): Model {
  if (!isLanguageModel(given)) return given;
  const known = made.get(given) ?? wrapped(given);
  made.set(given, known);
  return known;
}

/**
 * OpenAI must not store responses: the runtime often ends a stream early, and an incomplete response cannot be
 * referenced later. The conversation is on the log.
 */
const NOT_STORED: ProviderOptions = { openai: { store: false }, azure: { store: false } };

function wrapped(model: LanguageModel): Model {
  // "openai.responses" becomes "openai", as in "openai/gpt-5".
  const id = `${model.provider.split('.')[0] ?? model.provider}/${model.modelId}`.replaceAll(/\s/g, '_');
  const isResponses = /^(?:openai|azure).*\.responses$/.test(model.provider);
  const contextWindow = knownContextWindow(id);
  return fromLanguageModel(model, {
    ...modelFacts(id),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    id,
    ...(isResponses ? { providerOptions: NOT_STORED } : {}),
  });
}
