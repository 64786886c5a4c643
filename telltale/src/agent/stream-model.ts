import type { Clock } from '../lib/clock.ts';
import { err, ok, type Result, RuntimeError, toRuntimeError } from '../lib/errors.ts';
import type { Model, ModelEnd, ModelRequest, ModelSink } from '../models/model.ts';
import { modelEnd } from '../models/model-errors.ts';

/** How long a model may take to end once its signal is aborted; then it is left to itself. */
const GRACE_MS = 5_000;

/** A model's stream. */
export interface ModelStream {
  readonly model: Model;
  readonly clock: Clock;
  /** Called once, and never before `startStream` has returned. */
  onEnded(ended: Result<ModelEnd>): void;
  over: boolean;
  /** Of the clock that runs once it is given up. */
  disarm: (() => void) | undefined;
}

/** Who asks a model, as far as its stream can be ended. */
export interface ActiveModelCall {
  readonly abort: AbortController;
  /** While the model is being asked. */
  readonly streaming: ModelStream | undefined;
  /** Once it has been: the tokens of its reasoning, about. */
  readonly streamOutcome: { readonly reasoned: number } | undefined;
  /** What was heard of it and is not on the log. */
  readonly output: { readonly pending: string };
  /** The `<parallel>`s that are open in it. */
  readonly groups: readonly string[];
}

/** As `model.stream`, but for a model that does not listen to its signal: no session may hang on one. */
export function startStream(stream: ModelStream, request: ModelRequest, sink: ModelSink): void {
  started(stream.model, request, sink).then(
    (end: unknown) => settle(stream, endOf(stream.model, end)),
    (thrown: unknown) => settle(stream, err(toRuntimeError(thrown))),
  );
}

/** Nobody waits for it any more: it has ended with this. */
export const failStream = (stream: ModelStream, error: RuntimeError): void => settle(stream, err(error));

/** For whoever aborts the signal: gives the model its grace, after which nobody waits for it. */
export function startGracePeriod(stream: ModelStream): void {
  if (stream.over) return;
  stream.disarm ??= stream.clock.after(GRACE_MS, () => settle(stream, err(modelDeaf(stream.model.id))));
}

function settle(stream: ModelStream, end: Result<ModelEnd>): void {
  if (stream.over) return; // it ended after its grace
  stream.over = true;
  stream.disarm?.();
  stream.onEnded(end);
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
    const cancelled = () => startGracePeriod(stream);
    const stream: ModelStream = {
      model,
      clock,
      over: false,
      disarm: undefined,
      onEnded(ended) {
        signal.removeEventListener('abort', cancelled);
        if (ended.ok) resolve(ended.value);
        else reject(ended.error);
      },
    };
    startStream(stream, request, sink);
    if (signal.aborted) cancelled();
    else signal.addEventListener('abort', cancelled, { once: true });
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

function endOf({ id }: Model, end: unknown): Result<ModelEnd> {
  try {
    return ok(modelEnd(id, end));
  } catch (thrown) {
    return err(toRuntimeError(thrown));
  }
}

const modelDeaf = (id: string) =>
  new RuntimeError('model_cancelled', `${id} went on for ${GRACE_MS / 1000} s after it was told to end.`, {
    hint: 'A model must end its stream when its signal is aborted.',
  });
