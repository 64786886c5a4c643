import { z } from 'zod';
import { MAX_NAME_LENGTH } from './values.ts';

const FULL = String.raw`scripted:.+|[A-Za-z0-9][A-Za-z0-9_.-]*\/\S+`;
/** The prefixes of a provider's own model names. `gpt-oss` is missing because others serve it. */
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

/** A model, or a name from the agent's `models`. */
export const modelRefOrAlias = (description: string) =>
  z.string().regex(MODEL_OR_ALIAS).register(z.globalRegistry, {
    description,
    expects: 'a name from the agent\'s "models", "provider/model" or "scripted:FILE"',
  });

/** Model names may contain dots, slashes and colons: `gpt-4.1`, `google/gemini-2.5-flash`, `llama3.1:8b`. */
export const modelName = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME_LENGTH), z.regex(MODEL_NAME)).register(z.globalRegistry, {
    description,
    expects: 'a name of letters, digits, "_", "-", ".", ":", "/" and "@"',
  });

/** Whether the text names a model rather than an entry of `models`. */
export const isModelRef = (text: string): boolean => MODEL.test(text);

/** Adds the provider to a bare name such as `gemini-2.5-flash`. Any other text stays as it is. */
export function fullModelRef(text: string): string {
  const provider = PROVIDERS.find(([, names]) => names.test(text))?.[0];
  return provider === undefined ? text : `${provider}/${text}`;
}
