import { z } from 'zod';
import { MAX_NAME_LENGTH } from './values.ts';

const FULL = String.raw`scripted:.+|[A-Za-z0-9][A-Za-z0-9_.-]*\/\S+`;
/** How the names of a provider's own models begin. `gpt-oss` is served by others. */
const BARE: Readonly<Record<string, string>> = {
  anthropic: 'claude-',
  openai: 'gpt-(?!oss)|chatgpt-|codex-|o[1-9]',
  google: 'gemini-|gemma-',
};
const BARE_NAMES = Object.values(BARE).join('|');
const NAME = '[A-Za-z0-9_][A-Za-z0-9_.:/@-]*';

const MODEL = new RegExp(`^(?:${FULL}|(?:${BARE_NAMES})[^\\s/]*)$`);
const MODEL_NAME = new RegExp(`^(?!scripted:)${NAME}$`);
const MODEL_OR_ALIAS = new RegExp(`^(?:${FULL}|${NAME})$`);
const PROVIDERS = Object.entries(BARE).map(
  ([provider, begin]) => [provider, new RegExp(`^(?:${begin})[^\\s/]*$`)] as const,
);

export const modelRef = (description: string) =>
  z.string().regex(MODEL).register(z.globalRegistry, {
    description,
    expects: '"provider/model" (anthropic/claude-sonnet-4-5) or "scripted:FILE"',
  });

/** Where a name of the agent's `models` may stand too. */
export const modelRefOrAlias = (description: string) =>
  z.string().regex(MODEL_OR_ALIAS).register(z.globalRegistry, {
    description,
    expects: 'a name from the agent\'s "models", "provider/model" or "scripted:FILE"',
  });

/** Models have dots, slashes and colons in their names: `gpt-4.1`, `google/gemini-2.5-flash`, `llama3.1:8b`. */
export const modelName = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(MODEL_NAME)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits, "_", "-", ".", ":", "/" and "@"',
  });

/** Whether the text names a model by itself rather than an entry of `models`. */
export const isModelRef = (text: string): boolean => MODEL.test(text);

/** `gemini-2.5-flash` with its provider; every other text as it is. */
export function fullModelRef(text: string): string {
  const provider = PROVIDERS.find(([, names]) => names.test(text))?.[0];
  return provider === undefined ? text : `${provider}/${text}`;
}
