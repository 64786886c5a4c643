import type { Result } from '../../kernel/result.ts';
import type { ModelEnd, ModelRequest } from '../../models/model.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import type { SessionContext } from '../context.ts';
import { type ModelStream, startStream } from '../stream-model.ts';
import { hear } from './hearing.ts';
import { cut, endStream, type Hearing } from './hearing-state.ts';
import { mostChars } from './most-chars.ts';

/** The stream of one turn. One for each: a model that was left to itself may still have something to say to its own. */
interface TurnStream extends ModelStream {
  readonly hearing: Hearing;
  readonly started: number;
  firstMs: number | undefined;
  heard: number;
  /** Characters that may still come, reasoning among them. */
  left: number;
  readonly resolve: () => void;
}

/**
 * Asks the model, and hears what it says until its stream has ended, however that is. Never rejects. Whoever stops the
 * session ends the stream. How it ended is in `hearing`.
 */
export function listen(hearing: Hearing, prompt: Prompt): Promise<void> {
  return new Promise((resolve) => ask(hearing, prompt, resolve));
}

function ask(hearing: Hearing, prompt: Prompt, resolve: () => void): void {
  const { context, abort } = hearing;
  const { clock, model } = context;
  const stream: TurnStream = {
    model,
    clock,
    hearing,
    started: clock.monotonic(),
    firstMs: undefined,
    heard: 0,
    left: mostChars(context),
    over: false,
    disarm: undefined,
    onEnded,
    resolve,
  };
  hearing.streaming = stream;
  if (context.stop.reason !== undefined) endStream(hearing);
  startStream(stream, requestOf(context, prompt, abort.signal), {
    text: (delta) => hearText(stream, delta),
    reasoning: (text) => showReasoning(stream, text),
  });
}

function hearText(stream: TurnStream, delta: string): void {
  if (stream.over) return; // what comes after the stream's end belongs to no turn
  const { hearing, clock, started } = stream;
  stream.firstMs ??= clock.monotonic() - started;
  if (hearing.context.stop.reason !== undefined) return;
  const text = delta.length <= stream.left ? delta : delta.slice(0, stream.left);
  stream.heard += text.length;
  hear(hearing, text);
  take(stream, delta.length);
}

/** A model that never stops is stopped: what it says is kept in memory until a tag ends it. */
function take(stream: TurnStream, chars: number): void {
  stream.left -= chars;
  if (stream.left >= 0) return;
  stream.left = 0;
  cut(stream.hearing, 'turn_too_long');
}

function showReasoning(stream: TurnStream, text: string): void {
  if (stream.over) return;
  const { hearing, clock, started } = stream;
  const { log, state } = hearing.context;
  stream.firstMs ??= clock.monotonic() - started;
  if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
  take(stream, text.length);
}

function onEnded(this: TurnStream, ended: Result<ModelEnd>): void {
  const { hearing, clock, started, firstMs, heard } = this;
  hearing.streaming = undefined;
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  hearing.streamed = { ended, streamMs: clock.monotonic() - started, firstMs, heard };
  this.resolve();
}

function requestOf({ state, calls }: SessionContext, prompt: Prompt, signal: AbortSignal): ModelRequest {
  const { system, messages } = prompt;
  const { turn, said } = state.asked;
  if (said === 0 && calls === undefined) return { system, messages, turn, signal };
  return { system, messages, turn, ...(said === 0 ? {} : { said }), signal, ...calls?.request };
}
