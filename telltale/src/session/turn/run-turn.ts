import type { Usage } from '../../events/event.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ModelEnd, ModelSink } from '../../models/model.ts';
import { RECORD_FAILED } from '../../models/model-errors.ts';
import { nextDelay } from '../../models/retry-delay.ts';
import { type Prompt, reusedPrefix } from '../../prompt/prompt.ts';
import type { SessionContext } from '../context.ts';
import { costWith, countUsage } from '../cost.ts';
import { streamModel } from '../stream-model.ts';
import { abandonHearing, endHearing, hear, heardIn } from './hearing.ts';
import { type CutReason, createHearing, type Heard } from './hearing-state.ts';
import { openSpeech } from './open-speech.ts';

/** How a turn went, as far as the model's stream is concerned. */
export type TurnEnd =
  | { readonly kind: 'heard'; readonly heard: Heard }
  /** The next turn begins after `retryInMs`; without it, the session cannot go on. */
  | {
      readonly kind: 'broken';
      readonly error: RuntimeError;
      readonly retryInMs: number | undefined;
      readonly heard: Heard;
    }
  | { readonly kind: 'stopped' };

/** One request to the model: streams it, acts on what it says, and writes down how it ended. */
export async function runTurn(
  context: SessionContext,
  prompt: Prompt,
  previous: Prompt | undefined,
): Promise<TurnEnd> {
  const { log, state, clock, model, scheduler, stop } = context;
  log.append(
    {
      type: 'turn.started',
      prompt: { tokens: prompt.tokens, reused_prefix: reusedPrefix(previous, prompt) },
    },
    state.task?.place ?? context.sessionOrigin(),
  );
  const { asked } = state;
  const abort = new AbortController();
  let cut: CutReason | undefined;
  const hearing = createHearing(context, (reason) => {
    cut ??= reason;
    abort.abort(TURN_CUT);
  });
  log.speaking = () => openSpeech(hearing);
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
  const ended = await streamed(() =>
    streamModel(
      model,
      {
        system: prompt.system,
        messages: prompt.messages,
        turn: asked.turn,
        ...(asked.said === 0 ? {} : { said: asked.said }),
        signal: abort.signal,
        ...context.calls?.request,
      },
      sink,
      clock,
    ),
  );
  over = true;
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  const streamMs = clock.monotonic() - started;
  forget();
  if (stop.reason !== undefined) {
    abandonHearing(hearing);
    return { kind: 'stopped' };
  }
  const acting = context.reviews.until((done) => endHearing(hearing, done));
  if (acting !== undefined) await acting;
  if (stop.reason !== undefined) {
    abandonHearing(hearing);
    return { kind: 'stopped' };
  }
  if (!ended.ok && (cut === undefined || ended.error.code === RECORD_FAILED))
    return {
      ...breakOff(context, ended.error, heard === 0 ? undefined : countUsage(state, prompt.tokens)),
      heard: heardIn(hearing),
    };
  const usage =
    ended.ok && ended.value.usage !== undefined ? ended.value.usage : countUsage(state, prompt.tokens);
  if (cut === 'buffer_full') log.append(bufferFull);
  log.append({
    type: 'turn.completed',
    usage,
    cost_usd: costWith(model, usage),
    ms: round(streamMs),
    first_token_ms: round(firstMs ?? streamMs),
    finish: cut !== undefined || !ended.ok ? 'cut' : ended.value.finish,
  });
  scheduler.turnEnded('well');
  return { kind: 'heard', heard: heardIn(hearing) };
}

type Streamed =
  | { readonly ok: true; readonly value: ModelEnd }
  | { readonly ok: false; readonly error: RuntimeError };

async function streamed(start: () => Promise<ModelEnd>): Promise<Streamed> {
  try {
    return { ok: true, value: await start() };
  } catch (thrown) {
    return { ok: false, error: toRuntimeError(thrown) };
  }
}

/** What was said stays said; the next turn tells the model where it broke off. */
function breakOff(context: SessionContext, error: RuntimeError, usage: Usage | undefined) {
  const { log, state, random, scheduler, model } = context;
  const retryInMs = nextDelay(state.totals.failedTurns + 1, error, random());
  log.append({
    type: 'turn.failed',
    error: error.toJSON(),
    ...(retryInMs === undefined ? {} : { retry_in: Math.round(retryInMs) }),
    ...(usage === undefined ? {} : { usage, cost_usd: costWith(model, usage) }),
  });
  scheduler.turnEnded('broken');
  return { kind: 'broken', error, retryInMs } as const;
}

/** Milliseconds with three decimals: what a log can say without noise. */
const round = (ms: number) => Math.round(ms * 1000) / 1000;

/** One for all turns: what an error costs is its stack, and this one's tells nothing. */
const TURN_CUT = new RuntimeError('model_cancelled', "The runtime ended the model's stream.");

const bufferFull = {
  type: 'fault',
  code: 'buffer_full',
  message:
    'You went on writing for 4 MiB while a sync action ran, and were cut off there. What you wrote after the action was read once it had ended.',
} as const;
