import type { Clock } from '../kernel/clock.ts';
import type { JsonObject } from '../kernel/json.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Model } from '../models/model.ts';
import { openModel } from '../models/open-model.ts';
import type { Face } from './make-face.ts';

interface Deps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/**
 * The options with which the provider of a model is asked, as its package writes them. Undefined where they are not
 * known: of scripted models, of a program's own, and where the package is not installed.
 */
export async function requestOptionsOf(
  model: string | Model | undefined,
  { calls }: Face,
  { env, clock }: Deps,
): Promise<JsonObject | undefined> {
  if (model === undefined) return undefined;
  const asked = typeof model === 'string' ? await openUnasked(model, { env, clock }) : model;
  return asked?.requestOptions?.(calls?.request ?? {});
}

async function openUnasked(ref: string, deps: Deps): Promise<Model | undefined> {
  if (ref.startsWith('scripted:')) return undefined;
  try {
    return await openModel(ref, { ...deps, folder: '.', unasked: true });
  } catch (thrown) {
    // An id of a program's own names no provider; a package that is missing was there when the session ran.
    if (thrown instanceof RuntimeError) return undefined;
    throw thrown;
  }
}
