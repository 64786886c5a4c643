import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelRequest, ModelSink } from '../../models/model.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import { started } from '../stream-model.ts';
import { hear } from './hearing.ts';
import { endStream, type Hearing, type Streamed, tellToEnd } from './hearing-state.ts';

/** Asks the model, and hears what it says until its stream has ended, however that is. Never rejects. */
export function listen(hearing: Hearing, prompt: Prompt): Promise<Streamed> {
  const { stop } = hearing.context;
  hearing.onStop = () => tellToEnd(hearing);
  stop.on(hearing.onStop);
  const streamed = new Promise<Streamed>((resolve) => {
    hearing.onEnd = resolve;
  });
  ask(hearing, requestOf(hearing, prompt));
  return streamed;
}

function ask(hearing: Hearing, request: ModelRequest): void {
  started(hearing.context.model, request, sinkOf(hearing)).then(
    (value) => endStream(hearing, { ok: true, value }),
    (thrown: unknown) => endStream(hearing, { ok: false, error: toRuntimeError(thrown) }),
  );
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

const sinkOf = (hearing: Hearing): ModelSink => ({
  text(delta) {
    if (!isHeard(hearing) || hearing.context.stop.reason !== undefined) return;
    hearing.characters += delta.length;
    hear(hearing, delta);
  },
  reasoning(text) {
    if (!isHeard(hearing)) return;
    const { log, state } = hearing.context;
    if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
  },
});

/** Notes that something came; false where the stream has ended. */
function isHeard(hearing: Hearing): boolean {
  if (hearing.ended) return false;
  hearing.firstMs ??= hearing.context.clock.monotonic() - hearing.startedMs;
  return true;
}
