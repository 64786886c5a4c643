import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import { quoted } from '../manifest/diagnostic.ts';
import type { ModelOptionsManifest } from '../manifest/schema/model-options.ts';
import { fullModelRef } from '../manifest/schema/model-ref.ts';
import type { Model, ModelCallOptions, ModelPrice } from './model.ts';

export interface OpenModelOptions {
  /** Keys and base URLs of providers. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Paths of scripts are relative to this folder: the one of the manifest. */
  readonly folder: string;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch;
  /** The model is only inspected, so a missing key or base URL does not matter. */
  readonly unasked?: boolean;
}

const SCRIPTED = 'scripted:';
const PROVIDER_MODEL = /^[^/\s]+\/\S+$/;

/**
 * Opens the model for a reference: `scripted:FILE`, `provider/model`, or a known name without its provider. Names in an
 * agent's `models` must be resolved before. Loads only the package of that provider. Rejects with a RuntimeError.
 */
export async function openModel(name: string, options: OpenModelOptions): Promise<Model> {
  const ref = fullModelRef(name);
  if (ref.startsWith(SCRIPTED) && ref.length > SCRIPTED.length) {
    // Loading the YAML parser takes ten times as long as everything else here.
    const [{ loadScript }, { createScriptedModel }] = await Promise.all([
      import('./scripted/load-script.ts'),
      import('./scripted/scripted-model.ts'),
    ]);
    const script = await loadScript(ref.slice(SCRIPTED.length), options.folder);
    return createScriptedModel({ ...script, id: ref, clock: options.clock });
  }
  if (!PROVIDER_MODEL.test(ref)) throw notAModel(ref);
  const { createProviderModel } = await import('./providers/create-provider-model.ts');
  const { env, clock, fetch, unasked = false } = options;
  return createProviderModel(ref, { env, clock, unasked, ...(fetch === undefined ? {} : { fetch }) });
}

/** A model that is opened at its first request. A missing key or package makes that request fail. */
export function openedLater(ref: string, open: () => Promise<Model>): Model {
  let opened: Model | undefined;
  return {
    id: fullModelRef(ref),
    get price() {
      return opened?.price as ModelPrice;
    },
    get contextWindow() {
      return opened?.contextWindow as number;
    },
    async stream(request, sink) {
      opened ??= await open();
      return opened.stream(request, sink);
    },
  };
}

/** A manifest's settings of a model besides its name. */
export interface ModelSettings {
  readonly contextWindow?: number | undefined;
  readonly options?: ModelOptionsManifest;
}

/** Applies a manifest's settings to a model. Options of a request take precedence. */
export function withSettings(model: Model, { contextWindow, options = {} }: ModelSettings): Model {
  const call = callOptionsOf(options);
  const isPlain = Object.keys(call).length === 0;
  if (isPlain && (contextWindow === undefined || contextWindow === model.contextWindow)) return model;
  const window = contextWindow ?? model.contextWindow;
  const look = model.requestOptions?.bind(model);
  return {
    id: model.id,
    ...(window === undefined ? {} : { contextWindow: window }),
    // The price of a program's own model may change, or be set later.
    get price() {
      return model.price as ModelPrice;
    },
    ...(look === undefined ? {} : { requestOptions: (request) => look({ ...call, ...request }) }),
    stream: (request, sink) => model.stream(isPlain ? request : { ...call, ...request }, sink),
  };
}

function callOptionsOf(options: ModelOptionsManifest): ModelCallOptions {
  const named = {
    maxOutputTokens: options.max_output_tokens,
    temperature: options.temperature,
    topP: options.top_p,
    topK: options.top_k,
    seed: options.seed,
    presencePenalty: options.presence_penalty,
    frequencyPenalty: options.frequency_penalty,
    stopSequences: options.stop_sequences,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

const notAModel = (ref: string) =>
  new RuntimeError('model_unknown', `${quoted(ref)} is not a model.`, {
    hint: 'Write provider/model, for example anthropic/claude-sonnet-4-5, or scripted:FILE.',
  });
