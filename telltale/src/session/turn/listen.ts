import type { Result } from '../../kernel/result.ts';
import type { ModelEnd, ModelRequest, ModelSink } from '../../models/model.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import type { SessionContext } from '../context.ts';
import { startStream } from '../stream-model.ts';
import { hear } from './hearing.ts';
import { endStream, type Hearing } from './hearing-state.ts';

/** How the model's stream ended. */
export interface Streamed {
  readonly ended: Result<ModelEnd>;
  readonly streamMs: number;
  readonly firstMs: number | undefined;
  /** Characters that came. */
  readonly heard: number;
}

/**
 * Asks the model, and hears what it says until its stream has ended, however that is. Never rejects. Whoever stops the
 * session ends the stream.
 */
export function listen(hearing: Hearing, prompt: Prompt): Promise<Streamed> {
  const { context } = hearing;
  const { log, state, clock, model, stop } = context;
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
  return new Promise((resolve) => {
    const { signal } = hearing.abort;
    hearing.streaming = true;
    if (stop.reason !== undefined) endStream(hearing);
    const request = requestOf(context, prompt, signal);
    hearing.giveUp = startStream(model, request, sink, clock, (ended) => {
      over = true;
      hearing.streaming = false;
      hearing.giveUp = undefined;
      // What is held back behind a sync action is acted on later: that is no time of the model's.
      resolve({ ended, streamMs: clock.monotonic() - started, firstMs, heard });
    });
    if (signal.aborted) hearing.giveUp(); // cut while it was called
  });
}

function requestOf({ state, calls }: SessionContext, prompt: Prompt, signal: AbortSignal): ModelRequest {
  const { system, messages } = prompt;
  const { turn, said } = state.asked;
  if (said === 0 && calls === undefined) return { system, messages, turn, signal };
  return { system, messages, turn, ...(said === 0 ? {} : { said }), signal, ...calls?.request };
}
