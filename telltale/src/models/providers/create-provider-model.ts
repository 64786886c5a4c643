import { type Clock, createSystemClock } from '../../kernel/clock.ts';
import { nearest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { quoted } from '../../manifest/printable.ts';
import { knownContextWindow } from '../context-windows.ts';
import type { Model } from '../model.ts';
import { modelFacts } from '../prices.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { endedFetch } from './ended-fetch.ts';
import { fromLanguageModel } from './from-language-model.ts';
import { KNOWN_PROVIDERS, type KnownProvider } from './known-providers.ts';
import type { LanguageModel } from './language-model.ts';
import { ownOriginFetch } from './own-origin-fetch.ts';

export interface ProviderModelOptions {
  /** Keys and addresses: the process's own variables are not looked at. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** In place of what the environment says. */
  readonly baseURL?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly firstTokenTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** It is only looked at: a key or an address that is missing does not matter. */
  readonly unasked?: boolean;
}

/** Stand for a key and an address that nobody uses. */
const NO_KEY = 'none';
const NO_ADDRESS = 'http://localhost';

/** The model `provider/model` names. Loads that provider's package, and no other. Rejects with a RuntimeError. */
export async function createProviderModel(ref: string, options: ProviderModelOptions): Promise<Model> {
  const slash = ref.indexOf('/');
  const name = ref.slice(0, slash);
  const modelId = ref.slice(slash + 1);
  const provider = Object.hasOwn(KNOWN_PROVIDERS, name) ? KNOWN_PROVIDERS[name] : undefined;
  if (provider === undefined) throw providerUnknown(name);
  const { env, baseURL, fetch, unasked = false, ...rest } = options;
  const ownKey = provider.keyVariable === undefined ? undefined : given(env, provider.keyVariable);
  const apiKey = ownKey ?? (unasked ? NO_KEY : undefined);
  if (provider.needsKey && apiKey === undefined) throw keyMissing(ref, provider);
  const base = baseURL ?? given(env, provider.baseVariable);
  const known = base === undefined ? provider.baseURL : readBaseURL(base, provider);
  const address = known ?? (unasked ? NO_ADDRESS : undefined);
  if (address === undefined) throw baseMissing(ref, provider);
  const isGateway = address !== provider.baseURL;
  const { baseVariable } = provider;
  const ownFetch = ownOriginFetch({ id: ref, baseURL: address, baseVariable }, fetch);
  const bounded = boundedFetch(ref, ownFetch);
  const { ends } = provider;
  const settings = {
    modelId,
    baseURL: address,
    isGateway,
    apiKey,
    fetch: ends === undefined ? bounded : endedFetch(ends, rest.clock ?? createSystemClock(), bounded),
  };
  const contextWindow = knownContextWindow(ref);
  return fromLanguageModel(await load(ref, provider, settings), {
    ...rest,
    ...modelFacts(ref),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    id: ref,
    baseURL: address,
    openOn: (fetch) => load(ref, provider, { ...settings, fetch }),
    ...(provider.options === undefined ? {} : { providerOptions: provider.options }),
    ...(provider.keyVariable === undefined ? {} : { keyVariable: provider.keyVariable }),
    secrets: apiKey === undefined ? [] : [apiKey],
  });
}

/** A variable that is set to nothing is not set; keys that are read from files end with a line break. */
function given(env: ProviderModelOptions['env'], name: string): string | undefined {
  const value = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
  return value === '' ? undefined : value;
}

function readBaseURL(base: string, provider: KnownProvider): string {
  const url = URL.canParse(base) ? new URL(base) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw baseInvalid(base, provider);
  const plain = base.replace(/\/+$/, '');
  return url.pathname === '/' && url.search === '' ? plain + provider.path : plain;
}

async function load(
  ref: string,
  provider: KnownProvider,
  settings: Parameters<KnownProvider['open']>[0],
): Promise<LanguageModel> {
  try {
    return await provider.open(settings);
  } catch (thrown) {
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: unknown };
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${provider.package}'`);
    throw isMissing ? providerMissing(ref, provider) : providerBroken(ref, provider, thrown);
  }
}

const providerUnknown = (name: string) => {
  const known = Object.keys(KNOWN_PROVIDERS);
  const near = nearest(name, known);
  return new RuntimeError('provider_unknown', `There is no provider ${quoted(name)}.`, {
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}Known: ${known.join(', ')}. For any other OpenAI-compatible server, use openai-compatible/MODEL.`,
  });
};

const providerMissing = (ref: string, provider: KnownProvider) =>
  new RuntimeError(
    'provider_missing',
    `${quoted(ref)} needs the package ${provider.package}, which is not installed.`,
    {
      hint: `npm install ${provider.package}`,
    },
  );

const providerBroken = (ref: string, provider: KnownProvider, cause: unknown) =>
  new RuntimeError('provider_broken', `${quoted(ref)}: the package ${provider.package} cannot be used.`, {
    hint: `Install it anew: npm install ${provider.package}`,
    cause,
  });

const keyMissing = (ref: string, { keyVariable }: KnownProvider) =>
  new RuntimeError('model_key_missing', `${quoted(ref)} needs an API key, but ${keyVariable} is not set.`, {
    hint: `Set ${keyVariable}. The telltale command also reads it from .env. scripted:FILE and ollama/MODEL need no key.`,
  });

const baseMissing = (ref: string, { baseVariable }: KnownProvider) =>
  new RuntimeError(
    'model_base_url_missing',
    `${quoted(ref)} needs the address of a server, but ${baseVariable} is not set.`,
    {
      hint: `Set ${baseVariable}, like http://127.0.0.1:8000/v1.`,
    },
  );

const baseInvalid = (base: string, { baseVariable }: KnownProvider) =>
  new RuntimeError('model_base_url_invalid', `${quoted(base)} is not the address of a model server.`, {
    hint: `Set ${baseVariable} to an address that starts with http:// or https://.`,
  });
