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
import { endWith, type ModelStream, startStream } from '../stream-model.ts';
import { act, closeOpen, sameText } from './act.ts';
import { cut, dropQueue, endStream, type Heard, type Hearing, queueAt, whenOpen } from './active-turn.ts';
import { closeThoughts, dropUnwritten, endRun, keepPart, sayRaw, writeRest } from './output-buffer.ts';

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
  const { clock, manifest } = context;
  const model = modelInTurn(context);
  const firstTokenMs = manifest.limits.first_token.ms;
  const stream: TurnStream = {
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
    onEnded: (ended) => finishStream(stream, ended),
    listener,
  };
  hearing.streaming = stream;
  stream.disarmFirst = clock.after(firstTokenMs, () => tooLate(stream));
  if (context.stop.reason !== undefined) endStream(hearing);
  startStream(stream, requestOf(context, prompt, abort.signal), {
    text: (delta) => hearText(stream, delta),
    reasoning: (text) => showReasoning(stream, text),
    part: (part) => keepGiven(stream, part),
  });
}

function hearText(stream: TurnStream, delta: string): void {
  if (stream.over) return; // what comes after the stream's end belongs to no turn
  if (typeof delta !== 'string') throw modelNotText(stream.model.id, 'text', delta);
  const { hearing } = stream;
  heardFirst(stream);
  if (hearing.context.stop.reason !== undefined) return;
  const text = delta.length <= stream.left ? delta : delta.slice(0, stream.left);
  const { repeats } = stream;
  for (let at = 0; at < text.length && stream.left > 0; ) {
    const to = untilLook(repeats, text, at);
    const piece = at === 0 && to === text.length ? text : text.slice(at, to);
    stream.heard += piece.length;
    hear(hearing, piece);
    if (readRepetition(repeats, piece) && repeats.run >= mostRepeated(stream)) cutRepeats(stream, repeats);
    at = to;
  }
  take(stream, delta.length);
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
function tooLate(stream: TurnStream): void {
  if (stream.over || stream.firstMs !== undefined) return;
  const { hearing, model, firstTokenMs } = stream;
  endWith(stream, firstTokenLate(model.id, firstTokenMs));
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

function showReasoning(stream: TurnStream, text: string): void {
  if (stream.over) return;
  if (typeof text !== 'string') throw modelNotText(stream.model.id, 'reasoning', text);
  const { hearing } = stream;
  const { log, state } = hearing.context;
  heardFirst(stream);
  if (log.watched) log.show({ type: 'thought.delta', session: state.id, turn: state.turn, depth: 0, text });
  stream.reasoned += weighTokens(text);
  stream.thinksAgain ??= createRepetition();
  const { thinksAgain } = stream;
  for (let at = 0; at < text.length && stream.left > 0; ) {
    const to = untilLook(thinksAgain, text, at);
    if (readRepetition(thinksAgain, text.slice(at, to)) && thinksAgain.run >= MAX_REPEATED)
      cutRepeats(stream, thinksAgain);
    at = to;
  }
  take(stream, text.length);
}

function keepGiven(stream: TurnStream, part: GivenPart): void {
  if (stream.over || stream.hearing.context.stop.reason !== undefined) return;
  hearPart(stream.hearing, part);
}

function finishStream(stream: TurnStream, ended: Result<ModelEnd>): void {
  const { hearing, clock, started, firstMs, heard, reasoned } = stream;
  stream.disarmFirst();
  hearing.streaming = undefined;
  // What is held back behind a sync action is acted on later: that is no time of the model's.
  hearing.streamed = { ended, streamMs: clock.monotonic() - started, firstMs, heard, reasoned };
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
function mostChars({ manifest: { limits }, state: { totals } }: SessionContext): number {
  if (limits.tokens === undefined) return MAX_TURN_CHARS;
  const left = limits.tokens - totals.input - totals.output;
  return Math.min(MAX_TURN_CHARS, Math.max(ANSWER_CHARS, left * LONG_TOKEN));
}

/** Reads the next piece of the stream, and acts on each intent that it closes. */
function hear(hearing: Hearing, delta: string): void {
  if (hearing.observed !== undefined) return;
  if (hearing.calls !== undefined) {
    hearCalls(hearing, hearing.calls, delta);
    return;
  }
  const pieces = splitAtCloses(hearing, delta);
  if (pieces === undefined) {
    hearPiece(hearing, delta);
    return;
  }
  for (const piece of pieces) {
    hearPiece(hearing, piece);
    if (hearing.observed !== undefined) return;
  }
}

type CloseSplitter = Pick<Hearing, 'closing' | 'endsWithLess'>;

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
function hearPart({ spoken, observed, context }: Hearing, part: GivenPart): void {
  if (observed === undefined) keepPart(spoken, part, modelInTurn(context).id);
}

/** As with tags, what is on the log ends where an intent does: nothing is read behind one before it is acted on. */
function hearCalls(hearing: Hearing, calls: CallParser, delta: string): void {
  for (let at = 0; at < delta.length && hearing.observed === undefined; ) {
    const to = calls.advance(delta, at);
    sayRaw(hearing.spoken, delta.slice(at, to));
    pass(hearing, calls.take());
    at = to;
  }
}

function hearPiece(hearing: Hearing, piece: string): void {
  sayRaw(hearing.spoken, piece);
  pass(hearing, hearing.parser.push(piece));
}

function pass(hearing: Hearing, events: readonly ParserEvent[]): void {
  const { parser } = hearing;
  for (const event of events) {
    const { gate } = hearing;
    if (gate?.held !== true) act(hearing, event, parser.consumed);
    else if (queueAt(gate, event, parser.consumed)) cut(hearing, 'buffer_full');
  }
}

/**
 * The stream is over: reads what is left. Undefined where all that was heard has been acted on, else once that is so; or
 * once the agent is spoken to while people decide on what holds the rest back (`isHeldBack`).
 */
export function endHearing(hearing: Hearing): Promise<void> | undefined {
  const { parser, context } = hearing;
  if (hearing.observed === undefined) {
    const ending = parser.end();
    const closed = endedByModel(hearing) ? closedAtStop(ending, hearing.spoken.pending) : ending;
    hearing.endedOpen = closed !== ending;
    pass(hearing, closed);
  }
  const { gate } = hearing;
  if (gate?.held === true)
    return context.reviews.untilMessage((done) => {
      whenOpen(gate, () => {
        writeEnd(hearing);
        done();
      });
      return undefined;
    });
  writeEnd(hearing);
  return undefined;
}

/** Whether the model came to its end, and was neither cut off nor ran into a limit. */
const endedByModel = ({ cutFor, streamed, calls }: Hearing): boolean =>
  calls === undefined &&
  cutFor === undefined &&
  streamed?.ended.ok === true &&
  streamed.ended.value.finish === 'stop';

function writeEnd(hearing: Hearing): void {
  const { parser, spoken } = hearing;
  // Read while a <parallel> before it was waited for: the generation was cut at the sync action.
  if (hearing.observed !== undefined) dropUnwritten(spoken);
  endRun(spoken, parser.consumed);
  writeRest(spoken);
  tellWhyInDoubt(hearing);
  closeOpen(hearing);
}

/** What brought the doubt may stand in a branch that does not hold. A final response is not one of a turn in doubt. */
function tellWhyInDoubt({ passed, parser, over, observed, spoken }: Hearing): void {
  if (passed.length === 0 || !('inDoubt' in parser) || !parser.inDoubt()) return;
  if (over && observed === undefined) return;
  for (const { code, message } of passed) spoken.log.append({ type: 'fault', code, message });
}

/**
 * The turn is given up: what was said goes on the log, nothing more is acted on. What was held back does not: nobody could
 * tell it from what was acted on if the process died here.
 */
export function abandonHearing(hearing: Hearing): void {
  const { gate, spoken } = hearing;
  hearing.over = true;
  hearing.afterFinal = true;
  if (gate?.held === true) dropQueue(gate);
  else writeRest(spoken);
}

export const isHeldBack = ({ gate }: Hearing): boolean => gate?.held === true;

/**
 * Drops what was held back, as if the process had died here: it is not on the log, and the model may say it again under
 * the same ids.
 */
export function dropHeldBack(hearing: Hearing): void {
  const { gate, spoken } = hearing;
  if (gate !== undefined) dropQueue(gate);
  hearing.over = true;
  hearing.afterFinal = true;
  dropUnwritten(spoken);
  closeThoughts(spoken);
}

export const heardIn = ({ responses, spoken, observed, tagged }: Hearing): Heard => ({
  responses,
  text: spoken.bare,
  tagged,
  observed,
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
