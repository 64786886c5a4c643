import type { RuntimeError } from '../lib/errors.ts';

/** The figures in a provider's refusal of a prompt that is too long, as far as it gave any. */
export interface ContextFigures {
  /** How many tokens the model can read. */
  readonly window?: number;
  /** How many tokens the prompt had. */
  readonly tokens?: number;
}

/**
 * Messages of OpenAI, Anthropic, Google, Bedrock, Mistral, xAI, Groq, Together, vLLM, SGLang, llama.cpp, LM Studio,
 * Ollama, LiteLLM, OpenRouter, Kimi and MiniMax.
 */
const TOO_LONG = [
  /context[_ ]length[_ ]exceeded|exceed_context_size|model_context_window_exceeded|request_too_large/i,
  /maximum (?:context|prompt|input) length|maximum allowed input length/i,
  /prompt (?:is )?too long|input (?:is|was) too long|input length exceeds|(?:messages|request|prompt|input)s? (?:is |are )?too (?:long|large) for (?:this|the|requested)? ?model/i,
  /exceed(?:s|ed)? (?:the |this model's |the model's |model )?(?:available |maximum )?(?:context|max(?:imum)? number of (?:input )?tokens|number of tokens)/i,
  /context (?:size|window|length|limit)[^.]{0,40}(?:exceed|too small|reached)|exceeds? limit[^.]{0,20}context/i,
  /input token count|too many (?:input )?tokens|token limit exceeded|exceeded model token limit/i,
  /longer than the (?:model'?s )?context|greater than the context length|too large for model with/i,
  /reduce the length of the (?:messages|input|prompt)/i,
  /request too large for model/i,
];

/** Whether a provider's message says that a prompt is too long for the model. */
export const saysTooLong = (words: string): boolean => TOO_LONG.some((pattern) => pattern.test(words));

const NUMBER = String.raw`\(?(\d[\d,_]*)`;
const pattern = (source: string): RegExp => new RegExp(source.replaceAll('N', NUMBER), 'i');
const WINDOW = [
  pattern(String.raw`tokens?\s*>\s*N`),
  pattern(String.raw`\+\s*\d+\s*>\s*N`),
  pattern(String.raw`(?:context|prompt|input) length(?: is| of)?:?\s*N`),
  pattern(String.raw`number of (?:input )?tokens(?: allowed)?\s*N`),
  pattern(String.raw`(?:context size|context window|context limit)(?: is| of)?\s*N`),
  pattern(String.raw`"n_ctx"\s*:\s*N`),
  pattern(String.raw`token limit:\s*N`),
  pattern(String.raw`too large for model with\s*N`),
  pattern(String.raw`\blimit:?\s+N`),
];
const TOKENS = [
  pattern(String.raw`too long:?\s*N tokens`),
  pattern(String.raw`token count\s*N`),
  pattern(String.raw`"n_prompt_tokens"\s*:\s*N`),
  pattern(
    String.raw`(?:resulted in|requested(?: about)?|request contains|prompt contains(?: at least)?|contains)\s*N`,
  ),
  pattern(String.raw`\brequested:?\s*N`),
  pattern(String.raw`(?:request|input)\s*N tokens\)`),
];

/** Smaller figures mean something else. */
const MIN_WINDOW = 256;

/** Extracts the figures from such a message. Pure. */
export function contextFiguresIn(words: string): ContextFigures {
  const window = firstNumber(WINDOW, words);
  const tokens = firstNumber(TOKENS, words);
  return {
    ...(window === undefined || window < MIN_WINDOW ? {} : { window }),
    ...(tokens === undefined || tokens < MIN_WINDOW || tokens < (window ?? 0) ? {} : { tokens }),
  };
}

function firstNumber(patterns: readonly RegExp[], words: string): number | undefined {
  for (const each of patterns) {
    const found = each.exec(words)?.[1];
    if (found !== undefined) return Number(found.replaceAll(/[,_]/g, ''));
  }
  return undefined;
}

/** Attaches the provider's figures to an error. */
export const withContextFigures = <E extends RuntimeError>(error: E, figures: ContextFigures): E =>
  Object.assign(error, { contextFigures: figures });

export function contextFiguresOf(error: unknown): ContextFigures {
  if (typeof error !== 'object' || error === null || !Object.hasOwn(error, 'contextFigures')) return {};
  return (error as { readonly contextFigures: ContextFigures }).contextFigures;
}
