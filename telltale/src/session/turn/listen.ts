import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelEnd, ModelSink } from '../../models/model.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import { streamModel } from '../stream-model.ts';
import { hear } from './hearing.ts';
import { type Hearing, TURN_CUT } from './hearing-state.ts';

/** How the model's stream ended. */
export interface Streamed {
  readonly ended:
    | { readonly ok: true; readonly value: ModelEnd }
    | { readonly ok: false; readonly error: RuntimeError };
  readonly streamMs: number;
  readonly firstMs: number | undefined;
  /** Characters that came. */
  readonly heard: number;
}

/** Asks the model, and hears what it says until its stream has ended, however that is. Never rejects. */
export function listen(hearing: Hearing, prompt: Prompt): Promise<Streamed> {
  const { context, abort } = hearing;
  const { log, state, clock, model, stop } = context;
  const { asked } = state;
  const forget = stop.onStop(() => abort.abort(TURN_CUT));
  const started = clock.monotonic();
  let firstMs: number | undefined;
  let heard = 0;
  let over = false;
  const sink: ModelSink = {
    text(delta) {
      if (over) return; // what comes after the stream's end belongs to no turn
      firstMs ??= clock.monotonic() - started;
      if (stop.reason !== undefined) return;
      heard += delta.length;
      hear(hearing, delta);
    },
    reasoning(text) {
      if (over) return;
      firstMs ??= clock.monotonic() - started;
      if (log.watched)
        log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
    },
  };
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  const end = (ended: Streamed['ended']): Streamed => {
    over = true;
    forget();
    return { ended, streamMs: clock.monotonic() - started, firstMs, heard };
  };
  const request = {
    system: prompt.system,
    messages: prompt.messages,
    turn: asked.turn,
    ...(asked.said === 0 ? {} : { said: asked.said }),
    signal: abort.signal,
    ...context.calls?.request,
  };
  return streamModel(model, request, sink, clock).then(
    (value) => end({ ok: true, value }),
    (thrown: unknown) => end({ ok: false, error: toRuntimeError(thrown) }),
  );
}
