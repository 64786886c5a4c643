import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from '../models/model.ts';

/** How long a model may take to end once its signal is aborted; then it is left to itself. */
export const GRACE_MS = 5_000;

/** As `model.stream`, but for a model that does not listen to its signal: no session may hang on one. */
export function streamModel(
  model: Model,
  request: ModelRequest,
  sink: ModelSink,
  clock: Clock,
): Promise<ModelEnd> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    let disarm: (() => void) | undefined;
    const giveUp = () => {
      disarm = clock.after(GRACE_MS, () => reject(modelDeaf(model.id)));
    };
    const forget = () => {
      signal.removeEventListener('abort', giveUp);
      disarm?.();
    };
    signal.addEventListener('abort', giveUp, { once: true });
    started(model, request, sink).then(
      (end) => {
        forget();
        resolve(end);
      },
      (thrown: unknown) => {
        forget();
        reject(thrown);
      },
    );
  });
}

/** What a model throws before it gives a promise is a rejection, too. */
export function started(model: Model, request: ModelRequest, sink: ModelSink): Promise<ModelEnd> {
  try {
    return Promise.resolve(model.stream(request, sink));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

export const modelDeaf = (id: string) =>
  new RuntimeError('model_cancelled', `${id} went on for ${GRACE_MS / 1000} s after it was told to end.`, {
    hint: 'A model must end its stream when its signal is aborted.',
  });
