import { asText } from '../../conditions/as-text.ts';
import type { ReferencePiece } from '../../conditions/references/reference-reader.ts';
import { writtenId } from '../../events/action-id.ts';
import { extendText } from '../../kernel/extend-text.ts';
import { added, NONE } from '../../kernel/grow.ts';
import type { Json } from '../../kernel/json.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import type { SessionLog } from '../session-log.ts';
import { beforeJson, fitted, type JsonPlace, readOn } from './json-place.ts';
import { ResponseReader } from './response-reader.ts';

type ShownOn = Pick<SessionLog, 'state' | 'watched' | 'show'>;

type Resolving = Pick<Scheduler, 'resolve' | 'whenEnded'>;

/**
 * One `<response>`: its text goes out as it comes; at a `$name` whose action is still running it waits there, while
 * reading goes on. What values are put in is never read as tags or references. A record and functions: as closures it
 * took five times as much of a session that is being answered.
 */
export interface ResponseStream {
  readonly scheduler: Resolving;
  /** Where what goes out is shown; nowhere, if undefined. */
  readonly log: ShownOn | undefined;
  /** Whether it is meant to end the session, as far as its opening says. */
  readonly final: boolean;
  /** Where what has gone out ends, if it is to be JSON. */
  readonly place: JsonPlace | undefined;
  /** What has gone out. */
  text: string;
  /** What the model wrote, once that may differ from what has gone out: `sourceOf` has it. */
  source: string | undefined;
  /** Made at the first dollar: most responses have none. */
  reader: ResponseReader | undefined;
  queue: readonly ReferencePiece[];
  at: number;
  /** Whether what comes next waits. */
  held: boolean;
  /** Whether it waits for nobody any more: `waitNoMore`. */
  patient: boolean;
  ended: boolean;
  waiting: readonly (() => void)[];
}

/**
 * `toJson`: the agent's result is to be JSON. `after` is the response before it in the turn: what it waits for is waited
 * for here, too, so that they go out in order.
 */
export function createResponseStream(
  scheduler: Resolving,
  log: ShownOn | undefined,
  final: boolean,
  toJson: boolean,
  after?: ResponseStream,
): ResponseStream {
  const stream: ResponseStream = {
    // A copy: docs/decisions/copies.md
    scheduler,
    log,
    final,
    place: toJson ? beforeJson() : undefined,
    text: '',
    source: undefined,
    reader: undefined,
    queue: NONE,
    at: 0,
    held: after !== undefined,
    patient: true,
    ended: false,
    waiting: NONE,
  };
  if (after !== undefined) whenOut(after, () => goOn(stream));
  return stream;
}

export function pushResponse(stream: ResponseStream, text: string): void {
  // Most responses hold no dollar and wait for nothing: their text goes straight out.
  if (stream.reader === undefined && !stream.held && !text.includes('$')) {
    say(stream, text);
    return;
  }
  const before = sourceOf(stream);
  stream.reader ??= new ResponseReader(stream.place !== undefined, before);
  stream.source = before + text;
  take(stream, stream.reader.push(text));
}

/** What the model wrote. */
export const sourceOf = ({ source, text }: ResponseStream): string => source ?? text;

export function endResponse(stream: ResponseStream): void {
  if (stream.ended) return;
  stream.ended = true;
  take(stream, stream.reader?.end() ?? []);
}

/** Calls back once all of it has gone out; at once if it has. */
export function whenOut(stream: ResponseStream, then: () => void): void {
  if (isOut(stream)) then();
  else stream.waiting = added(stream.waiting, then);
}

/** A person decides on what it waits for, and somebody has a word for the agent first: the rest goes out without it. */
export function waitNoMore(stream: ResponseStream): void {
  if (!stream.patient) return;
  stream.patient = false;
  if (stream.queue.length > 0) goOn(stream);
}

export const isOut = ({ ended, held, queue }: ResponseStream): boolean =>
  ended && !held && queue.length === 0;

function out(stream: ResponseStream, text: string): void {
  if (text === '') return;
  stream.text = extendText(stream.text, text);
  const { log, final } = stream;
  if (log?.watched !== true) return;
  const { id: session, turn } = log.state;
  log.show({ type: 'response.delta', session, turn, text, final });
}

/** What the model wrote itself. */
function say(stream: ResponseStream, text: string): void {
  if (stream.place !== undefined) readOn(stream.place, text);
  out(stream, text);
}

/** What stands in the place of a reference, and what of its text was no part of it. */
function fill(stream: ResponseStream, value: Json, rest: string): void {
  out(stream, stream.place === undefined ? asText(value) : fitted(stream.place, value));
  say(stream, rest);
}

const UNDECIDED = 'it waits for a person to decide.';

/** Whether the piece has gone out; otherwise its action is waited for. */
function put(stream: ResponseStream, piece: ReferencePiece): boolean {
  if (piece.kind === 'text') say(stream, piece.text);
  else if (piece.kind === 'escaped') {
    const isKnown = stream.scheduler.resolve(`$${piece.name}`).state !== 'unknown';
    say(stream, isKnown ? piece.source : `$${piece.source}`);
  } else {
    const { scheduler } = stream;
    const found = scheduler.resolve(piece.source);
    if (found.state === 'pending' && !stream.patient)
      fill(stream, `[unavailable: ${writtenId(found.id)}: ${UNDECIDED}]`, found.rest);
    else if (found.state === 'pending') {
      stream.held = true;
      scheduler.whenEnded([found.id], () => goOn(stream));
      return false;
    } else if (found.state === 'value') fill(stream, found.value, found.rest);
    else if (found.state === 'failed')
      fill(stream, `[unavailable: ${writtenId(found.id)}: ${found.error.message}]`, found.rest);
    else say(stream, piece.source);
  }
  return true;
}

function drain(stream: ResponseStream): void {
  for (let piece = next(stream); piece !== undefined && put(stream, piece); piece = next(stream)) stream.at++;
  if (stream.at < stream.queue.length) return;
  stream.queue = NONE;
  stream.at = 0;
  if (!stream.ended) return;
  const { waiting } = stream;
  stream.waiting = NONE;
  for (const then of waiting) then();
}

const next = ({ queue, at }: ResponseStream): ReferencePiece | undefined => queue[at];

function goOn(stream: ResponseStream): void {
  stream.held = false;
  drain(stream);
}

function take(stream: ResponseStream, pieces: readonly ReferencePiece[]): void {
  for (const piece of pieces) stream.queue = added(stream.queue, piece);
  if (!stream.held) drain(stream);
}
