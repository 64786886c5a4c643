import type { RuntimeError } from '../lib/errors.ts';
import type { SessionState } from '../log/state.ts';
import type { Model } from '../models/model.ts';
import { isNoSuchModel } from '../models/model-errors.ts';
import type { SessionContext } from './session-context.ts';

/** Failures of a model or its provider, rather than of what it was asked. */
const MODELS_FAULT: ReadonlySet<string> = new Set([
  'model_rate_limited',
  'model_overloaded',
  'model_unreachable',
  'model_broke_off',
  'model_timeout',
  'model_refused_key',
  'model_key_missing',
  'model_unknown',
  'model_base_url_missing',
  'model_base_url_invalid',
  'provider_unknown',
  'provider_missing',
  'provider_broken',
]);

/** What of a session says which model its turn in hand asks. */
type FallbackContext = Pick<SessionContext, 'model' | 'deps'> & { readonly state: Readonly<SessionState> };

/** The model that the turn in hand asks: a fallback, once the session's own model has failed in it. */
export function modelInTurn({ model, deps, state }: FallbackContext): Model {
  const { fallback } = state;
  if (fallback?.active !== true) return model;
  return deps.prepared.fallbacks.find(({ id }) => id === fallback.model) ?? model;
}

/** The model that is asked once the one in hand has failed for good; undefined where there is none, or it would not help. */
export function nextFallback(context: FallbackContext, error: RuntimeError): Model | undefined {
  const { model, deps } = context;
  const { prepared } = deps;
  // A recording holds the answers of one model.
  if (model !== prepared.model || !isModelsFault(error)) return undefined;
  const asked = modelInTurn(context);
  const others = prepared.fallbacks.filter(({ id }) => id !== model.id);
  return others[others.findIndex(({ id }) => id === asked.id) + 1];
}

const isModelsFault = (error: RuntimeError): boolean => MODELS_FAULT.has(error.code) || isNoSuchModel(error);
