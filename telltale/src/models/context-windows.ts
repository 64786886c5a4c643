/** The context window of unknown models. */
export const DEFAULT_CONTEXT_WINDOW = 128_000;

const MILLION = 1_000_000;
/** 128,000 of 400,000 tokens are reserved for the answer. */
const GPT_5 = 272_000;
/** 128,000 of 1,050,000 tokens are reserved for the answer. */
const GPT_5_4 = 922_000;
const GEMINI = 1_048_576;

/**
 * How many tokens fit into a request, by the beginning of the model's name, as published by its provider in November
 * 2026. The longest match counts.
 */
const WINDOWS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  anthropic: {
    claude: 200_000,
    'claude-fable': MILLION,
    'claude-mythos': MILLION,
    'claude-opus-4-6': MILLION,
    'claude-opus-4-7': MILLION,
    'claude-opus-4-8': MILLION,
    'claude-opus-5': MILLION,
    'claude-sonnet-4-6': MILLION,
    'claude-sonnet-5': MILLION,
    'claude-haiku-5': MILLION,
  },
  openai: {
    'gpt-3.5-turbo': 16_385,
    'gpt-4': 8_192,
    'gpt-4-32k': 32_768,
    'gpt-4-turbo': 128_000,
    'gpt-4-0125': 128_000,
    'gpt-4-1106': 128_000,
    'gpt-4-vision': 128_000,
    'gpt-4o': 128_000,
    'chatgpt-4o': 128_000,
    'gpt-4.1': 1_047_576,
    'gpt-4.5': 128_000,
    'gpt-5': GPT_5,
    'gpt-5-chat': 128_000,
    'gpt-5.1-chat': 128_000,
    'gpt-5.2-chat': 128_000,
    'gpt-5.3-chat': 128_000,
    'gpt-5.4': GPT_5_4,
    'gpt-5.4-mini': GPT_5,
    'gpt-5.4-nano': GPT_5,
    'gpt-5.5': GPT_5_4,
    'gpt-5.6': GPT_5_4,
    'gpt-6': GPT_5_4,
    'gpt-oss': 131_072,
    'codex-mini': 200_000,
    o1: 200_000,
    'o1-mini': 128_000,
    'o1-preview': 128_000,
    o3: 200_000,
    'o4-mini': 200_000,
  },
  google: {
    gemini: GEMINI,
    'gemini-1.0': 32_760,
    'gemini-1.5-pro': 2_097_152,
    'gemma-3': 131_072,
    'gemma-3-1b': 32_768,
    'gemma-3n': 32_768,
  },
};

/** The context window of `provider/model`, if it is known. Gateways use the names of the model's maker. */
export function knownContextWindow(ref: string): number | undefined {
  const slash = ref.indexOf('/');
  const provider = ref.slice(0, slash);
  // With Ollama, the window is a setting of the server, whatever the model supports.
  if (slash < 0 || provider === 'ollama') return undefined;
  const own = Object.hasOwn(WINDOWS, provider) ? WINDOWS[provider] : undefined;
  if (own !== undefined) return windowIn(own, ref.slice(slash + 1));
  // `anthropic/claude-…` of a router, `us.anthropic.claude-…` of Bedrock.
  const name = ref.slice(ref.lastIndexOf('/') + 1).replace(/^(?:[a-z-]+\.)*(?=claude-)/, '');
  for (const windows of Object.values(WINDOWS)) {
    const found = windowIn(windows, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function windowIn(windows: Readonly<Record<string, number>>, name: string): number | undefined {
  let best = '';
  for (const beginning of Object.keys(windows))
    if (beginning.length > best.length && beginsWith(name, beginning)) best = beginning;
  return windows[best];
}

/** Matches `gpt-5` with `gpt-5-mini` and `gpt-5.9`, but not with `gpt-50`. */
const beginsWith = (name: string, beginning: string): boolean =>
  name.startsWith(beginning) && !/^[a-z0-9]/.test(name.slice(beginning.length));
