import { type EndOfStream, GOOGLE_END, OPENAI_END } from './ended-fetch.ts';
import type { LanguageModel, ProviderOptions } from './language-model.ts';

export interface ProviderSettings {
  readonly modelId: string;
  readonly baseURL: string;
  /** Whether the base URL is not the provider's own. */
  readonly isGateway: boolean;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

export interface KnownProvider {
  /** The package to install. */
  readonly package: string;
  readonly keyVariable: string | undefined;
  readonly needsKey: boolean;
  readonly baseVariable: string;
  /** The default base URL, unless `baseVariable` is set. */
  readonly baseURL: string | undefined;
  /** Appended to a base URL without a path, because some only name the host. */
  readonly path: string;
  readonly options?: ProviderOptions;
  /** How its answers end, if the package reads on after that. */
  readonly ends?: readonly EndOfStream[];
  /** Loads the package. */
  readonly open: (settings: ProviderSettings) => Promise<LanguageModel>;
}

/** Passes everything explicitly, so that packages do not read the process's environment. */
const passed = ({ baseURL, apiKey, fetch }: ProviderSettings) => ({
  baseURL,
  fetch,
  ...(apiKey === undefined ? {} : { apiKey }),
});

const compatible = (name: string): KnownProvider['open'] => {
  return async (settings) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return createOpenAICompatible({ name, includeUsage: true, ...passed(settings) })(settings.modelId);
  };
};

export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    package: '@ai-sdk/anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    needsKey: true,
    baseVariable: 'ANTHROPIC_BASE_URL',
    baseURL: 'https://api.anthropic.com/v1',
    path: '/v1',
    // A model that reasons for a long time only sends pings, which show that it is alive.
    options: { anthropic: { includePings: true } },
    open: async (settings) => {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic(passed(settings))(settings.modelId);
    },
  },
  openai: {
    package: '@ai-sdk/openai',
    keyVariable: 'OPENAI_API_KEY',
    needsKey: true,
    baseVariable: 'OPENAI_BASE_URL',
    baseURL: 'https://api.openai.com/v1',
    path: '/v1',
    // The conversation is on the log, so the provider need not store it.
    options: { openai: { store: false } },
    ends: OPENAI_END,
    open: async (settings) => {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const provider = createOpenAI(passed(settings));
      // Gateways support chat completions. Few support responses.
      return settings.isGateway ? provider.chat(settings.modelId) : provider.responses(settings.modelId);
    },
  },
  google: {
    package: '@ai-sdk/google',
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    needsKey: true,
    baseVariable: 'GOOGLE_GENERATIVE_AI_BASE_URL',
    baseURL: 'https://generativelanguage.googleapis.com/v1beta',
    path: '/v1beta',
    ends: GOOGLE_END,
    open: async (settings) => {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
      return createGoogleGenerativeAI(passed(settings))(settings.modelId);
    },
  },
  'openai-compatible': {
    package: '@ai-sdk/openai-compatible',
    keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
    needsKey: false,
    baseVariable: 'OPENAI_COMPATIBLE_BASE_URL',
    baseURL: undefined,
    path: '/v1',
    ends: OPENAI_END,
    open: compatible('openai-compatible'),
  },
  ollama: {
    package: '@ai-sdk/openai-compatible',
    keyVariable: undefined,
    needsKey: false,
    baseVariable: 'OLLAMA_BASE_URL',
    baseURL: 'http://127.0.0.1:11434/v1',
    path: '/v1',
    ends: OPENAI_END,
    open: compatible('ollama'),
  },
};
