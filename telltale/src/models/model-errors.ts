import { RuntimeError } from '../lib/errors.ts';
import type { ModelEnd } from './model.ts';

/** The ways in which a model call can fail outside this process. A script can fail with them, too. */
export const MODEL_FAILURES = [
  'model_rate_limited',
  'model_overloaded',
  'model_unreachable',
  'model_broke_off',
  'model_timeout',
  'model_bad_request',
  'model_context_exceeded',
  'model_refused_key',
  'model_filtered',
  'model_no_tools',
] as const;

/** A turn could not be recorded as requested. The only failure that also counts for an interrupted turn. */
export const RECORD_FAILED = 'record_failed';

export type ModelFailure = (typeof MODEL_FAILURES)[number];

/** Whether the same call may succeed later, and what to do otherwise. */
const FAILURES: Readonly<Record<ModelFailure, { readonly retryable: boolean; readonly hint: string }>> = {
  model_rate_limited: {
    retryable: true,
    hint: "You have reached the provider's rate limit. Wait, send fewer requests, or ask the provider for a higher limit.",
  },
  model_overloaded: {
    retryable: true,
    hint: 'The provider has problems. Check its status page, then try again.',
  },
  model_unreachable: {
    retryable: true,
    hint: 'Check your network connection, the proxy and the base URL, and that the server is running.',
  },
  model_broke_off: {
    retryable: true,
    hint: 'The connection was interrupted in the middle of an answer. Try again.',
  },
  model_timeout: {
    retryable: true,
    hint: 'The provider is slow or does not respond. Try again, or use a smaller model.',
  },
  model_bad_request: {
    retryable: false,
    hint: "The provider rejected the request. The message above is the provider's.",
  },
  model_context_exceeded: {
    retryable: false,
    hint: "The prompt does not fit into the model's context window. Compact the session, or use a model with a larger window.",
  },
  model_filtered: {
    retryable: false,
    hint: "The provider's filter or the model itself refused. Rephrase the task.",
  },
  model_no_tools: {
    retryable: false,
    hint: 'Set "dialect: tags" in the manifest, which works with every model, or use a model that can call tools.',
  },
  model_refused_key: {
    retryable: false,
    hint: 'Check that the API key is right and that it may use this model.',
  },
};

/** The hint if the provider does not know the model. */
export const NO_SUCH_MODEL = 'Check the name of the model and the base URL.';

/** Whether the provider does not have the model. */
export const isNoSuchModel = ({ code, hint }: RuntimeError): boolean =>
  code === 'model_bad_request' && hint === NO_SUCH_MODEL;

export interface ModelFailedOptions {
  readonly hint?: string | undefined;
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** `what` is a sentence that describes the failure. */
export const modelFailed = (
  code: ModelFailure,
  what: string,
  options: ModelFailedOptions = {},
): RuntimeError<ModelFailure> => new RuntimeError(code, what, { ...FAILURES[code], ...options });

export const firstTokenLate = (id: string, ms: number) =>
  modelFailed('model_timeout', `${id} did not start to answer within ${ms / 1000} s.`, {
    hint: 'The provider is slow or does not respond, or the model thinks for a long time. To wait longer, set "limits: { first_token: 20m }".',
  });

/**
 * Checks the result of a model's stream, because a program's own Model may be untyped. Invalid usage counts as missing,
 * because adding it up would disable every limit.
 */
export function modelEnd(id: string, end: unknown): ModelEnd {
  const { finish, usage } = Object(end) as Partial<ModelEnd>;
  if (typeof finish !== 'string') throw modelEndMissing(id, end);
  return usage === undefined || isUsage(usage) ? (end as ModelEnd) : { finish };
}

const isUsage = (usage: unknown): boolean => {
  const {
    input,
    output,
    cached = 0,
    written = 0,
    reasoning = 0,
  } = Object(usage) as Readonly<Record<string, unknown>>;
  return [input, output, cached, written, reasoning].every(
    (count) => Number.isFinite(count) && (count as number) >= 0,
  );
};

const modelEndMissing = (id: string, end: unknown) =>
  new RuntimeError(
    'model_end_missing',
    `The stream of ${id} resolved to ${typeof end === 'object' && end !== null ? 'an object without "finish"' : String(end)}.`,
    {
      hint: 'stream() of a Model must resolve to { finish: "stop" }, or "length" if it reached its limit, with usage: { input, output } if that is known. It passes its output to sink.text(delta) as it arrives.',
    },
  );

/** Providers also send pieces without text, such as the first one and the one with the usage. */
export const modelNotText = (id: string, call: 'text' | 'reasoning', given: unknown) =>
  new RuntimeError('model_not_text', `${id} called sink.${call} with ${typeof given}, not with text.`, {
    hint: `Call it only with text: if (typeof delta === "string") sink.${call}(delta).`,
  });

export const modelCancelled = (id: string) =>
  new RuntimeError('model_cancelled', `The stream of ${id} was cancelled.`);
