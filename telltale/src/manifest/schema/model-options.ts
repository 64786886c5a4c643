import { z } from 'zod';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { modelRef } from './model-ref.ts';
import { isMap } from './plain-values.ts';
import { count, nonEmptyText } from './values.ts';

/** A number between two inclusive bounds. */
const between = (min: number, max: number, description: string) =>
  z
    .number()
    .min(min)
    .max(max)
    .register(z.globalRegistry, { description, expects: `a number from ${min} to ${max}` });

const SLIPS = {
  max_tokens: 'Use "max_output_tokens".',
  max_length: 'Use "max_output_tokens", which counts tokens.',
  max_completion_tokens: 'Use "max_output_tokens".',
  maxOutputTokens: 'Use "max_output_tokens".',
  topP: 'Use "top_p".',
  topK: 'Use "top_k".',
  presencePenalty: 'Use "presence_penalty".',
  frequencyPenalty: 'Use "frequency_penalty".',
  stop: 'Use "stop_sequences".',
  stopSequences: 'Use "stop_sequences".',
};

const optionKeys = {
  temperature: between(0, 2, 'How random the answers are: 0 for the most likely words.').optional(),
  top_p: between(0, 1, 'The share of likely words to choose from. Set this or "temperature".').optional(),
  top_k: count('How many of the likeliest tokens to choose from.').optional(),
  max_output_tokens: count("The longest answer to one request; the provider's limit if absent.").optional(),
  seed: z
    .int()
    .register(z.globalRegistry, {
      description: 'Makes answers repeatable where the provider can.',
      expects: 'a whole number',
    })
    .optional(),
  presence_penalty: between(-2, 2, 'Above 0: avoids words that it has used.').optional(),
  frequency_penalty: between(-2, 2, 'Above 0: avoids words the more it has used them.').optional(),
  stop_sequences: z
    .array(nonEmptyText('A text.'))
    .optional()
    .describe('Texts that end the answer where the model would write them.'),
};

const OPTIONS = "Sampling options of each request to the agent's own model and its fallback models.";

export const modelOptions = closed(
  { title: '"model_options"', description: OPTIONS, slips: SLIPS },
  optionKeys,
);

/** As a manifest has them. */
export type ModelOptionsManifest = z.infer<typeof modelOptions>;

const REFERENCE = 'provider/model or scripted:FILE. Claude, GPT and Gemini models need no provider.';
const reference = modelRef(REFERENCE);

const modelWithOptions = closed(
  { title: 'a model', description: 'A model with sampling options of its own.', slips: SLIPS },
  { model: modelRef(REFERENCE), ...optionKeys },
);

/** An entry of `models`: a model, or a map with the model and its options. */
export const namedModel = choice([reference, modelWithOptions], (value) =>
  isMap(value) ? modelWithOptions : reference,
);

export type NamedModel = string | z.infer<typeof modelWithOptions>;

/** The model that an entry of `models` names. */
export function namedRef(entry: NamedModel): string;
export function namedRef(entry: NamedModel | undefined): string | undefined;
export function namedRef(entry: NamedModel | undefined): string | undefined {
  return typeof entry === 'object' ? entry.model : entry;
}

/** The options of an entry of `models`. */
export function namedOptions(entry: NamedModel | undefined): ModelOptionsManifest {
  if (typeof entry !== 'object') return {};
  const { model: _, ...options } = entry;
  return options;
}
