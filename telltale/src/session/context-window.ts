import type { Counted, SessionState } from '../events/state.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { contextFiguresOf } from '../models/context-exceeded.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../models/context-windows.ts';
import type { Model } from '../models/model.ts';
import type { Prompt } from '../prompt/prompt.ts';

interface Asked {
  readonly model: Model;
  readonly state: SessionState;
}

/** Tokens that the session's model can read. */
export const contextWindowOf = ({ model, state }: Asked): number =>
  Math.min(model.contextWindow ?? DEFAULT_CONTEXT_WINDOW, state.window ?? Number.POSITIVE_INFINITY);

/** A provider that counts less than a part of what is there leaves out what it had in its cache, or counts nothing. */
const LEAST_SHARE = 0.25;

/** No text has more tokens for each that is estimated here: a provider that counts more counts something else. */
const MOST_PER_ESTIMATED = 3;

/** How many tokens the provider counts for one that is estimated here, at least one. */
export function tokensPerEstimated({ counted }: Pick<SessionState, 'counted'>): number {
  return counted === undefined ? 1 : Math.max(1, perEstimated(counted));
}

const perEstimated = ({ input, estimated }: Counted): number =>
  Math.min(MOST_PER_ESTIMATED, input / estimated);

/**
 * The tokens of a prompt, estimated at `estimated`: what the provider counted last, and what has been added since by
 * estimate. Without a count of the provider's the estimate has to do.
 */
export function promptTokens(state: Pick<SessionState, 'counted'>, estimated: number): number {
  const { counted } = state;
  if (counted === undefined || counted.input < counted.estimated * LEAST_SHARE) return estimated;
  const added = estimated - counted.estimated;
  // Less than was counted: it was compacted since.
  if (added < 0) return estimated * perEstimated(counted);
  return counted.input + added * tokensPerEstimated(state);
}

/**
 * Whether a refusal cannot be right: however the provider counts, the prompt is far from filling the window that it
 * names, or is known for.
 */
export const isDoubtful = (asked: Asked, { tokens }: Prompt): boolean =>
  tokens * MOST_PER_ESTIMATED <= contextWindowOf(asked);

/** Prompts in a row that a provider may refuse as too long; each is shorter than the one before. */
export const MAX_REFUSALS = 3;

/** Where nobody says how much the model can read: this part of what it could not. */
const GUESSED_SHARE = 0.9;

/** A refused prompt that is shorter than this part of the known window does not yet say that the window is smaller. */
const ODD_SHARE = 0.05;

/** What is known of the window, and of the prompt in hand, once the provider has refused that as too long. */
export function exceededBy(
  { model, state }: Asked,
  error: RuntimeError,
): { readonly window: number; readonly tokens: number } | undefined {
  if (error.code !== 'model_context_exceeded') return undefined;
  const figures = contextFiguresOf(error);
  const counted = figures.tokens ?? Math.round(promptTokens(state, state.promptTokens ?? 0));
  const known = contextWindowOf({ model, state });
  const isOdd = state.exceeded === undefined && counted < known * ODD_SHARE;
  const told = figures.window ?? (isOdd ? known : Math.round(counted * GUESSED_SHARE));
  const window = Math.max(1, Math.min(known, told));
  return {
    window,
    tokens: figures.window === undefined && isOdd ? counted : Math.max(counted, window + 1),
  };
}

/** Why a prompt cannot be sent, and what can be done about it. `cause` is the provider's own refusal. */
export function contextTooSmall(
  { model, state }: Asked,
  prompt: Prompt,
  systemTokens: number,
  cause?: RuntimeError,
): RuntimeError {
  const scale = tokensPerEstimated(state);
  const about = (tokens: number) => Math.round(tokens * scale).toLocaleString('en');
  const window = contextWindowOf({ model, state });
  const told = cause === undefined ? '' : ` ${cause.message}`;
  return new RuntimeError(
    'model_context_exceeded',
    `The prompt does not fit into the context window of ${model.id}, ${window.toLocaleString('en')} tokens: it has about ${about(prompt.tokens)}, ${about(systemTokens)} of them in the system prompt and the tools, and nothing more can be left out of it.${told}`,
    {
      hint: 'Shorten the instructions or the message, offer fewer tools, or use a model with a larger window. If this one can read more, say so with "context_window" in the manifest.',
    },
  );
}
