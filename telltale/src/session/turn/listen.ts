import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelRequest, ModelSink } from '../../models/model.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import { started } from '../stream-model.ts';
import { hear } from './hearing.ts';
import { endStream, type Hearing, type Streamed, tellToEnd } from './hearing-state.ts';

/** Asks the model, and hears what it says until its stream has ended, however that is. Never rejects. */
export function listen(hearing: Hearing, prompt: Prompt): Promise<Streamed> {
  const { model, stop } = hearing.context;
  const streamed = new Promise<Streamed>((resolve) => {
    hearing.onEnd = resolve;
  });
  hearing.onStop = () => tellToEnd(hearing);
  stop.on(hearing.onStop);
  // All that lasts as long as the stream is made here: functions of one place share what they hold.
  const sink: ModelSink = {
    text(delta) {
      if (!isHeard(hearing) || hearing.context.stop.reason !== undefined) return;
      hearing.characters += delta.length;
      hear(hearing, delta);
    },
    reasoning(text) {
      if (isHeard(hearing)) showReasoning(hearing, text);
    },
  };
  started(model, requestOf(hearing, prompt), sink).then(
    (value) => endStream(hearing, { ok: true, value }),
    (thrown: unknown) => endStream(hearing, { ok: false, error: toRuntimeError(thrown) }),
  );
  return streamed;
}

function showReasoning({ context: { log, state } }: Hearing, text: string): void {
  if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
}

function requestOf({ context, abort }: Hearing, { system, messages }: Prompt): ModelRequest {
  const { asked } = context.state;
  return {
    system,
    messages,
    turn: asked.turn,
    ...(asked.said === 0 ? {} : { said: asked.said }),
    signal: abort.signal,
    ...context.calls?.request,
  };
}

/** Notes that something came; false where the stream has ended. */
function isHeard(hearing: Hearing): boolean {
  if (hearing.ended) return false;
  hearing.firstMs ??= hearing.context.clock.monotonic() - hearing.startedMs;
  return true;
}
