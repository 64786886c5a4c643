import type { Clock } from '../kernel/clock.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from '../models/model.ts';

/** How long a model may take to end once its signal is aborted; then it is left to itself. */
const GRACE_MS = 5_000;

/**
 * As `model.stream`, but for a model that does not listen to its signal: no session may hang on one. `settled` is called
 * once, and never before this returns. Whoever aborts the signal calls what is returned, which gives the model its grace.
 */
export function startStream(
  model: Model,
  request: ModelRequest,
  sink: ModelSink,
  clock: Clock,
  settled: (ended: Result<ModelEnd>) => void,
): () => void {
  let over = false;
  let disarm: (() => void) | undefined;
  const settle = (ended: Result<ModelEnd>) => {
    if (over) return; // it ended after its grace
    over = true;
    disarm?.();
    settled(ended);
  };
  started(model, request, sink).then(
    (end) => settle(ok(end)),
    (thrown: unknown) => settle(err(toRuntimeError(thrown))),
  );
  return () => {
    if (!over) disarm ??= clock.after(GRACE_MS, () => settle(err(modelDeaf(model.id))));
  };
}

/** The same with a signal that is listened to. */
export function streamModel(
  model: Model,
  request: ModelRequest,
  sink: ModelSink,
  clock: Clock,
): Promise<ModelEnd> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const giveUp = startStream(model, request, sink, clock, (ended) => {
      signal.removeEventListener('abort', giveUp);
      if (ended.ok) resolve(ended.value);
      else reject(ended.error);
    });
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}

/** What a model throws before it gives a promise is a rejection, too. */
function started(model: Model, request: ModelRequest, sink: ModelSink): Promise<ModelEnd> {
  try {
    return Promise.resolve(model.stream(request, sink));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

const modelDeaf = (id: string) =>
  new RuntimeError('model_cancelled', `${id} went on for ${GRACE_MS / 1000} s after it was told to end.`, {
    hint: 'A model must end its stream when its signal is aborted.',
  });
