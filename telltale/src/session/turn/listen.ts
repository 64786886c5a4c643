import { wasCutShort } from '../../events/fold-turns.ts';
import { weighTokens } from '../../kernel/estimate-tokens.ts';
import type { GivenPart } from '../../kernel/provider-part.ts';
import { createRepetition, type Repetition, readRepetition, untilLook } from '../../kernel/repetition.ts';
import type { Result } from '../../kernel/result.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { ModelEnd, ModelRequest } from '../../models/model.ts';
import { firstTokenLate, modelCancelled, modelNotText } from '../../models/model-errors.ts';
import type { Prompt } from '../../prompt/prompt.ts';
import type { SessionContext } from '../context.ts';
import { endWith, type ModelStream, startStream } from '../stream-model.ts';
import { hear, hearPart } from './hearing.ts';
import { cut, endStream, type Hearing } from './hearing-state.ts';
import { mostChars } from './most-chars.ts';
import { sameText } from './repeats.ts';

/** The stream of one turn. One for each: a model that was left to itself may still have something to say to its own. */
interface TurnStream extends ModelStream {
  readonly hearing: Hearing;
  readonly started: number;
  firstMs: number | undefined;
  /** How long the first word may take. */
  readonly firstTokenMs: number;
  /** Of the clock that runs until then. */
  disarmFirst: () => void;
  heard: number;
  /** Tokens of reasoning that came, about. */
  reasoned: number;
  /** Characters that may still come, reasoning among them. */
  left: number;
  /** What it says again and again, and what it thinks. */
  readonly repeats: Repetition;
  thinksAgain: Repetition | undefined;
  readonly listener: Listener;
}

export interface Listener {
  /** How is in `hearing`. Called once for each stream, and not before `listen` has returned. */
  streamEnded(): void;
}

/**
 * Asks the model, and hears what it says until its stream has ended, however that is. Whoever stops the session ends the
 * stream.
 */
export function listen(hearing: Hearing, prompt: Prompt, listener: Listener): void {
  const { context, abort } = hearing;
  const { clock, model, manifest } = context;
  const firstTokenMs = manifest.limits.first_token.ms;
  const stream: TurnStream = {
    // A copy: docs/decisions/copies.md
    model,
    clock,
    hearing,
    started: clock.monotonic(),
    firstMs: undefined,
    firstTokenMs,
    disarmFirst: nothing,
    heard: 0,
    reasoned: 0,
    left: mostChars(context),
    repeats: createRepetition(),
    thinksAgain: undefined,
    over: false,
    disarm: undefined,
    onEnded,
    listener,
  };
  hearing.streaming = stream;
  stream.disarmFirst = clock.after(firstTokenMs, tooLate.bind(stream));
  if (context.stop.reason !== undefined) endStream(hearing);
  startStream(stream, requestOf(context, prompt, abort.signal), {
    // Bound: half the size of closures.
    text: hearText.bind(stream),
    reasoning: showReasoning.bind(stream),
    part: keepGiven.bind(stream),
  });
}

function hearText(this: TurnStream, delta: string): void {
  if (this.over) return; // what comes after the stream's end belongs to no turn
  if (typeof delta !== 'string') throw modelNotText(this.model.id, 'text', delta);
  const { hearing } = this;
  heardFirst(this);
  if (hearing.context.stop.reason !== undefined) return;
  const text = delta.length <= this.left ? delta : delta.slice(0, this.left);
  const { repeats } = this;
  for (let at = 0; at < text.length && this.left > 0; ) {
    const to = untilLook(repeats, text, at);
    const piece = at === 0 && to === text.length ? text : text.slice(at, to);
    this.heard += piece.length;
    hear(hearing, piece);
    if (readRepetition(repeats, piece) && repeats.run >= mostRepeated(this)) cutRepeats(this, repeats);
    at = to;
  }
  take(this, delta.length);
}

/**
 * How long it may repeat itself. What nothing has come of yet is the body of an action or the input of a call, and may be a
 * file; white space between tokens of JSON is in none.
 */
function mostRepeated({ hearing, heard, repeats }: TurnStream): number {
  const isInput = heard - hearing.parser.consumed >= repeats.run && /\S/.test(repeats.tail);
  return isInput ? MAX_REPEATED_INPUT : MAX_REPEATED;
}

/** Characters that are one text again and again before a turn is cut off. */
const MAX_REPEATED = 32 * 1024;
const MAX_REPEATED_INPUT = 256 * 1024;

function cutRepeats(stream: TurnStream, { tail, period, run }: Repetition): void {
  stream.left = 0;
  stream.hearing.repeated ??= sameText(tail.slice(-period), run);
  cut(stream.hearing, 'repeats');
}

function heardFirst(stream: TurnStream): void {
  if (stream.firstMs !== undefined) return;
  stream.firstMs = stream.clock.monotonic() - stream.started;
  stream.disarmFirst();
}

/** The request is made again, as one that failed before its first character. */
function tooLate(this: TurnStream): void {
  if (this.over || this.firstMs !== undefined) return;
  const { hearing, model, firstTokenMs } = this;
  endWith(this, firstTokenLate(model.id, firstTokenMs));
  stopWith(hearing.abort, modelCancelled(model.id));
}

function nothing(): void {
  // no clock runs yet
}

/** A model that never stops is stopped: what it says is kept in memory until a tag ends it. */
function take(stream: TurnStream, chars: number): void {
  stream.left -= chars;
  if (stream.left >= 0) return;
  stream.left = 0;
  cut(stream.hearing, 'turn_too_long');
}

function showReasoning(this: TurnStream, text: string): void {
  if (this.over) return;
  if (typeof text !== 'string') throw modelNotText(this.model.id, 'reasoning', text);
  const { hearing } = this;
  const { log, state } = hearing.context;
  heardFirst(this);
  if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
  this.reasoned += weighTokens(text);
  this.thinksAgain ??= createRepetition();
  const { thinksAgain } = this;
  for (let at = 0; at < text.length && this.left > 0; ) {
    const to = untilLook(thinksAgain, text, at);
    if (readRepetition(thinksAgain, text.slice(at, to)) && thinksAgain.run >= MAX_REPEATED)
      cutRepeats(this, thinksAgain);
    at = to;
  }
  take(this, text.length);
}

function keepGiven(this: TurnStream, part: GivenPart): void {
  if (this.over || this.hearing.context.stop.reason !== undefined) return;
  hearPart(this.hearing, part);
}

function onEnded(this: TurnStream, ended: Result<ModelEnd>): void {
  const { hearing, clock, started, firstMs, heard, reasoned } = this;
  this.disarmFirst();
  hearing.streaming = undefined;
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  hearing.streamed = { ended, streamMs: clock.monotonic() - started, firstMs, heard, reasoned };
  this.listener.streamEnded();
}

function requestOf(
  { state, calls, manifest }: SessionContext,
  { system, messages }: Prompt,
  signal: AbortSignal,
): ModelRequest {
  const { turn, said } = state.asked;
  const writeCall = calls === undefined && !manifest.protocol.seal ? { writeCall: callAsTag } : {};
  const firstTokenMs = manifest.limits.first_token.ms;
  return {
    system,
    messages,
    turn,
    signal,
    firstTokenMs,
    ...(said === 0 ? {} : { said, saidParts: partsSaid(state) }),
    ...calls?.request,
    ...writeCall,
  };
}

/** How many characters were said in answer to the same request, before each restart. */
function partsSaid({ turns }: SessionContext['state']): readonly number[] {
  const parts: number[] = [];
  for (let at = turns.length - 1; at > 0; at--) {
    const [before, turn] = [turns[at - 1], turns[at]];
    if (before === undefined || turn === undefined || !wasCutShort(turn)) break;
    parts.unshift(before.output.length);
  }
  return parts;
}

/**
 * A native call in the dialect `tags` is what the tag would be: it has one reading, and the prompt shows the model how
 * it is written. What cannot be read stays text, so that the model is told.
 */
function callAsTag(name: string, input: string): string {
  let parameters: unknown;
  try {
    parameters = JSON.parse(input === '' ? '{}' : input);
  } catch {
    // It is quoted below.
  }
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    return `\n[called ${name}: ${input}]\n`.replaceAll('<', '\\u003c');
  // No value in it can end the tag.
  const body = JSON.stringify({ name, parameters }).replaceAll('<', '\\u003c');
  return `\n<action>${body}</action>\n`;
}
