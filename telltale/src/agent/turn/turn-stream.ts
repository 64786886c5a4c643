import type { GivenPart } from '../../lib/calls.ts';
import { type Result, stopWith } from '../../lib/errors.ts';
import { createRepetition, type Repetition, readRepetition, untilLook } from '../../lib/text.ts';
import { weighTokens } from '../../lib/tokens.ts';
import { wasCutShort } from '../../log/fold-turns.ts';
import type { ModelEnd, ModelRequest } from '../../models/model.ts';
import { firstTokenLate, modelCancelled, modelNotText } from '../../models/model-errors.ts';
import type { CallParser } from '../../parser/calls/call-parser.ts';
import type { ParserEvent } from '../../parser/intents.ts';
import { truncated } from '../../parser/tags/faults.ts';
import type { Prompt } from '../../prompt/prompt.ts';

import { modelInTurn } from '../fallback.ts';

import type { SessionContext } from '../session-context.ts';
import { failStream, type ModelStream, startStream } from '../stream-model.ts';
import {
  type ActiveTurn,
  cutStream,
  dropHeldEvents,
  endStream,
  holdEvent,
  type TurnResult,
  whenReleased,
} from './active-turn.ts';
import { appendPart, appendRaw, closeThoughts, dropUnwritten, endText, writeRest } from './output-buffer.ts';
import { act, closeOpen, sameText } from './turn-interpreter.ts';

/** The stream of one turn. One for each: a model that was left to itself may still have something to say to its own. */
interface TurnStream extends ModelStream {
  readonly activeTurn: ActiveTurn;
  readonly started: number;
  firstMs: number | undefined;
  /** How long the first word may take. */
  readonly firstTokenMs: number;
  /** Of the clock that runs until then. */
  disarmFirst: () => void;
  characters: number;
  /** Tokens of reasoning that came, about. */
  reasoned: number;
  /** Characters that may still come, reasoning among them. */
  remaining: number;
  /** What it says again and again, and what it thinks. */
  readonly repeats: Repetition;
  thinksAgain: Repetition | undefined;
  readonly listener: TurnStreamListener;
}

export interface TurnStreamListener {
  /** How is in `activeTurn`. Called once for each stream, and not before `listen` has returned. */
  streamEnded(): void;
}

/**
 * Asks the model, and hears what it says until its stream has ended, however that is. Whoever stops the session ends the
 * stream.
 */
export function startTurnStream(activeTurn: ActiveTurn, prompt: Prompt, listener: TurnStreamListener): void {
  const { context, abort } = activeTurn;
  const { clock, manifest } = context;
  const model = modelInTurn(context);
  const firstTokenMs = manifest.limits.first_token.ms;
  const stream: TurnStream = {
    model,
    clock,
    activeTurn,
    started: clock.monotonic(),
    firstMs: undefined,
    firstTokenMs,
    disarmFirst: nothing,
    characters: 0,
    reasoned: 0,
    remaining: maxTurnChars(context),
    repeats: createRepetition(),
    thinksAgain: undefined,
    over: false,
    disarm: undefined,
    onEnded: (ended) => finishStream(stream, ended),
    listener,
  };
  activeTurn.streaming = stream;
  stream.disarmFirst = clock.after(firstTokenMs, () => firstTokenTimeout(stream));
  if (context.stop.reason !== undefined) endStream(activeTurn);
  startStream(stream, requestOf(context, prompt, abort.signal), {
    text: (delta) => receiveText(stream, delta),
    reasoning: (text) => showReasoning(stream, text),
    part: (part) => receivePart(stream, part),
  });
}

function receiveText(stream: TurnStream, delta: string): void {
  if (stream.over) return; // what comes after the stream's end belongs to no turn
  if (typeof delta !== 'string') throw modelNotText(stream.model.id, 'text', delta);
  const { activeTurn } = stream;
  noteFirstToken(stream);
  if (activeTurn.context.stop.reason !== undefined) return;
  const text = delta.length <= stream.remaining ? delta : delta.slice(0, stream.remaining);
  const { repeats } = stream;
  for (let at = 0; at < text.length && stream.remaining > 0; ) {
    const to = untilLook(repeats, text, at);
    const piece = at === 0 && to === text.length ? text : text.slice(at, to);
    stream.characters += piece.length;
    feedText(activeTurn, piece);
    if (readRepetition(repeats, piece) && repeats.run >= maxRepeated(stream)) cutRepeats(stream, repeats);
    at = to;
  }
  countCharacters(stream, delta.length);
}

/**
 * How long it may repeat itself. What nothing has come of yet is the body of an action or the input of a call, and may be a
 * file; white space between tokens of JSON is in none.
 */
function maxRepeated({ activeTurn, characters: heard, repeats }: TurnStream): number {
  const isInput = heard - activeTurn.parser.consumed >= repeats.run && /\S/.test(repeats.tail);
  return isInput ? MAX_REPEATED_INPUT : MAX_REPEATED;
}

/** Characters that are one text again and again before a turn is cut off. */
const MAX_REPEATED = 32 * 1024;
const MAX_REPEATED_INPUT = 256 * 1024;

function cutRepeats(stream: TurnStream, { tail, period, run }: Repetition): void {
  stream.remaining = 0;
  stream.activeTurn.repeated ??= sameText(tail.slice(-period), run);
  cutStream(stream.activeTurn, 'repeats');
}

function noteFirstToken(stream: TurnStream): void {
  if (stream.firstMs !== undefined) return;
  stream.firstMs = stream.clock.monotonic() - stream.started;
  stream.disarmFirst();
}

/** The request is made again, as one that failed before its first character. */
function firstTokenTimeout(stream: TurnStream): void {
  if (stream.over || stream.firstMs !== undefined) return;
  const { activeTurn, model, firstTokenMs } = stream;
  failStream(stream, firstTokenLate(model.id, firstTokenMs));
  stopWith(activeTurn.abort, modelCancelled(model.id));
}

function nothing(): void {
  // no clock runs yet
}

/** A model that never stops is stopped: what it says is kept in memory until a tag ends it. */
function countCharacters(stream: TurnStream, chars: number): void {
  stream.remaining -= chars;
  if (stream.remaining >= 0) return;
  stream.remaining = 0;
  cutStream(stream.activeTurn, 'turn_too_long');
}

function showReasoning(stream: TurnStream, text: string): void {
  if (stream.over) return;
  if (typeof text !== 'string') throw modelNotText(stream.model.id, 'reasoning', text);
  const { activeTurn } = stream;
  const { log, state } = activeTurn.context;
  noteFirstToken(stream);
  if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
  stream.reasoned += weighTokens(text);
  stream.thinksAgain ??= createRepetition();
  const { thinksAgain } = stream;
  for (let at = 0; at < text.length && stream.remaining > 0; ) {
    const to = untilLook(thinksAgain, text, at);
    if (readRepetition(thinksAgain, text.slice(at, to)) && thinksAgain.run >= MAX_REPEATED)
      cutRepeats(stream, thinksAgain);
    at = to;
  }
  countCharacters(stream, text.length);
}

function receivePart(stream: TurnStream, part: GivenPart): void {
  if (stream.over || stream.activeTurn.context.stop.reason !== undefined) return;
  feedPart(stream.activeTurn, part);
}

function finishStream(stream: TurnStream, ended: Result<ModelEnd>): void {
  const { activeTurn, clock, started, firstMs, characters: heard, reasoned } = stream;
  stream.disarmFirst();
  activeTurn.streaming = undefined;
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  activeTurn.streamOutcome = {
    ended,
    streamMs: clock.monotonic() - started,
    firstMs,
    characters: heard,
    reasoned,
  };
  stream.listener.streamEnded();
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

/** What a turn may say. The largest answer that a provider gives is an eighth of that. */
const MAX_TURN_CHARS = 4 * 1024 * 1024;

/** A turn that may begin may also end, with a long answer, however little is left. */
const ANSWER_CHARS = 64 * 1024;

/** Few tokens are longer, so that no turn is cut which its provider would count as within the limit. */
const LONG_TOKEN = 8;

/** How many characters the next turn may have: no more than a turn may, and than what is left of the limit of tokens. */
function maxTurnChars({ manifest: { limits }, state: { totals } }: SessionContext): number {
  if (limits.tokens === undefined) return MAX_TURN_CHARS;
  const left = limits.tokens - totals.input - totals.output;
  return Math.min(MAX_TURN_CHARS, Math.max(ANSWER_CHARS, left * LONG_TOKEN));
}

/** Reads the next piece of the stream, and acts on each intent that it closes. */
function feedText(activeTurn: ActiveTurn, delta: string): void {
  if (activeTurn.cutAtAction !== undefined) return;
  if (activeTurn.calls !== undefined) {
    feedCalls(activeTurn, activeTurn.calls, delta);
    return;
  }
  const pieces = splitAtCloses(activeTurn, delta);
  if (pieces === undefined) {
    feedPiece(activeTurn, delta);
    return;
  }
  for (const piece of pieces) {
    feedPiece(activeTurn, piece);
    if (activeTurn.cutAtAction !== undefined) return;
  }
}

type CloseSplitter = Pick<ActiveTurn, 'closing' | 'endsWithLess'>;

/**
 * Splits a chunk after its closing tags, so that the log ends where an intent does. After a crash the model then continues
 * from there, and nothing it wrote is acted on twice or lost. Undefined if the chunk is one piece.
 */
export function splitAtCloses(splitter: CloseSplitter, chunk: string): readonly string[] | undefined {
  if (chunk === '') return undefined;
  if (splitter.endsWithLess && chunk.startsWith('/')) splitter.closing = true;
  splitter.endsWithLess = chunk.endsWith('<');
  if (!splitter.closing && !chunk.includes('</')) return undefined;
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; ; ) {
    if (!splitter.closing) {
      const open = chunk.indexOf('</', at);
      if (open === -1) break;
      splitter.closing = true;
      at = open + 2;
    }
    const end = chunk.indexOf('>', at);
    if (end === -1) break;
    splitter.closing = false;
    at = end + 1;
    pieces.push(chunk.slice(from, at));
    from = at;
  }
  if (from < chunk.length) pieces.push(chunk.slice(from));
  return pieces;
}

/** Something that the provider wants back with the text. */
function feedPart({ output, cutAtAction, context }: ActiveTurn, part: GivenPart): void {
  if (cutAtAction === undefined) appendPart(output, part, modelInTurn(context).id);
}

/** As with tags, what is on the log ends where an intent does: nothing is read behind one before it is acted on. */
function feedCalls(activeTurn: ActiveTurn, calls: CallParser, delta: string): void {
  for (let at = 0; at < delta.length && activeTurn.cutAtAction === undefined; ) {
    const to = calls.advance(delta, at);
    appendRaw(activeTurn.output, delta.slice(at, to));
    dispatchEvents(activeTurn, calls.take());
    at = to;
  }
}

function feedPiece(activeTurn: ActiveTurn, piece: string): void {
  appendRaw(activeTurn.output, piece);
  dispatchEvents(activeTurn, activeTurn.parser.push(piece));
}

function dispatchEvents(activeTurn: ActiveTurn, events: readonly ParserEvent[]): void {
  const { parser } = activeTurn;
  for (const event of events) {
    const { holdBuffer } = activeTurn;
    if (holdBuffer?.held !== true) act(activeTurn, event, parser.consumed);
    else if (holdEvent(holdBuffer, event, parser.consumed)) cutStream(activeTurn, 'buffer_full');
  }
}

/**
 * The stream is over: reads what is left. Undefined where all that was heard has been acted on, else once that is so; or
 * once the agent is spoken to while people decide on what holds the rest back (`isHeldBack`).
 */
export function finishReading(activeTurn: ActiveTurn): Promise<void> | undefined {
  const { parser, context } = activeTurn;
  if (activeTurn.cutAtAction === undefined) {
    const ending = parser.end();
    const closed = endedByModel(activeTurn) ? closedAtStop(ending, activeTurn.output.pending) : ending;
    activeTurn.endedOpen = closed !== ending;
    dispatchEvents(activeTurn, closed);
  }
  const { holdBuffer } = activeTurn;
  if (holdBuffer?.held === true)
    return context.reviews.untilMessage((done) => {
      whenReleased(holdBuffer, () => {
        writeEnd(activeTurn);
        done();
      });
      return undefined;
    });
  writeEnd(activeTurn);
  return undefined;
}

/** Whether the model came to its end, and was neither cut off nor ran into a limit. */
const endedByModel = ({ cutFor, streamOutcome: streamed, calls }: ActiveTurn): boolean =>
  calls === undefined &&
  cutFor === undefined &&
  streamed?.ended.ok === true &&
  streamed.ended.value.finish === 'stop';

function writeEnd(activeTurn: ActiveTurn): void {
  const { parser, output } = activeTurn;
  // Read while a <parallel> before it was waited for: the generation was cut at the sync action.
  if (activeTurn.cutAtAction !== undefined) dropUnwritten(output);
  endText(output, parser.consumed);
  writeRest(output);
  reportAmbiguity(activeTurn);
  closeOpen(activeTurn);
}

/** What brought the doubt may stand in a branch that does not hold. A final response is not one of a turn in doubt. */
function reportAmbiguity({
  skippedFaults,
  parser,
  ignoresRest: over,
  cutAtAction,
  output,
}: ActiveTurn): void {
  if (skippedFaults.length === 0 || !('inDoubt' in parser) || !parser.inDoubt()) return;
  if (over && cutAtAction === undefined) return;
  for (const { code, message } of skippedFaults) output.log.append({ type: 'fault', code, message });
}

/**
 * The turn is given up: what was said goes on the log, nothing more is acted on. What was held back does not: nobody could
 * tell it from what was acted on if the process died here.
 */
export function abandonTurn(activeTurn: ActiveTurn): void {
  const { holdBuffer, output } = activeTurn;
  activeTurn.ignoresRest = true;
  activeTurn.toldAfterFinal = true;
  if (holdBuffer?.held === true) dropHeldEvents(holdBuffer);
  else writeRest(output);
}

export const isHolding = ({ holdBuffer }: ActiveTurn): boolean => holdBuffer?.held === true;

/**
 * Drops what was held back, as if the process had died here: it is not on the log, and the model may say it again under
 * the same ids.
 */
export function dropHeldOutput(activeTurn: ActiveTurn): void {
  const { holdBuffer, output } = activeTurn;
  if (holdBuffer !== undefined) dropHeldEvents(holdBuffer);
  activeTurn.ignoresRest = true;
  activeTurn.toldAfterFinal = true;
  dropUnwritten(output);
  closeThoughts(output);
}

export const turnResult = ({ responses, output, cutAtAction, hasTag: tagged }: ActiveTurn): TurnResult => ({
  responses,
  text: output.bare,
  hasTag: tagged,
  cutAtAction,
});

const TRUNCATED = truncated('response').message;
/** The first part of a closing tag, or all of it but its end. */
const HALF_CLOSED = /<(?:\/(?:r(?:e(?:s(?:p(?:o(?:n(?:s(?:e\s*)?)?)?)?)?)?)?)?)?$/;

/**
 * What a turn ended with that the model ended by itself. A response that is all that was left open there counts as closed,
 * unless it ends in a fence or in the midst of its closing tag: the model only forgot the tag. `said` is the end of what
 * it wrote, `ending` what the parser makes of its end.
 */
export function closedAtStop(ending: readonly ParserEvent[], said: string): readonly ParserEvent[] {
  const isOther = (event: ParserEvent) =>
    event.type === 'fault'
      ? event.message !== TRUNCATED
      : event.type !== 'text' && event.type !== 'delta' && !isCutResponse(event);
  const isOpen = ending.some(isCutResponse) && !ending.some(isOther) && !HALF_CLOSED.test(said);
  if (!isOpen) return ending;
  return ending.flatMap((event): readonly ParserEvent[] => {
    if (event.type === 'fault') return [];
    return [isCutResponse(event) ? { type: 'close', tag: 'response' } : event];
  });
}

const isCutResponse = (event: ParserEvent): boolean =>
  event.type === 'close' && event.tag === 'response' && event.truncated === true;
