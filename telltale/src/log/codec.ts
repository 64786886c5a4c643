import { RuntimeError } from '../lib/errors.ts';
import { layOut } from '../lib/text.ts';
import type { Cause, EventBody, EventHead, EventOf, SessionEvent } from './event.ts';
import type { Usage } from './session-events.ts';

/** The form in which events are written now. Older ones are brought up to date by `UPCASTS` when they are read. */
const VERSION = 1;

/** From the version that is the key to the next one. Written forms never change: a change gets a number and a line here. */
const UPCASTS: Readonly<Record<number, (stored: StoredEvent) => StoredEvent>> = {};

type StoredCause = readonly [seq: number, depth: number, stream?: string];

interface StoredEvent {
  readonly v: number;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly cause: StoredCause;
  readonly type: string;
}

/**
 * One line of JSON. The stream's own name is left out: the store knows it. The body is written once and the head put in
 * front of it by hand, which takes half the time of a `JSON.stringify` of the whole.
 */
export const encodeEvent = (head: EventHead, body: EventBody): string =>
  storedFront(head.seq, head.at, head.turn, head.cause, head.session) + encodeBody(body);

/** What a line begins with, before its body; also for the streams of other kinds. */
export const storedFront = (seq: number, at: number, turn: number, cause: Cause, stream: string): string =>
  `{"v":${VERSION},"seq":${seq},"at":${at},${storedPlace(turn, cause, stream)}`;

function storedPlace(turn: number, cause: Cause, stream: string): string {
  const other = cause.stream === stream ? '' : `,${JSON.stringify(cause.stream)}`;
  return `"turn":${turn},"cause":[${cause.seq},${cause.depth}${other}],`;
}

/**
 * What the line before had between its seq and its cause: most lines come in the same millisecond as the one before, and
 * of the same turn. One for all streams that are written here: with one for each, a session had 370 bytes more.
 */
export interface LastFront {
  at: number;
  turn: number;
  text: string;
}

export const createLastFront = (): LastFront => ({ at: Number.NaN, turn: 0, text: '' });

/**
 * As `encodeEvent`, for one event after another. A line is a tree of its pieces until it is stored, and each piece costs
 * about as much as ten characters, so it has few. The head comes in pieces: events have so many shapes that what is read
 * from them is looked up.
 */
export function encodeNext(
  last: LastFront,
  body: EventBody,
  seq: number,
  at: number,
  stream: string,
  turn: number,
  cause: Cause,
): string {
  if (at !== last.at || turn !== last.turn) {
    last.at = at;
    last.turn = turn;
    last.text = `,"at":${at},"turn":${turn},"cause":[`;
    layOut(last.text);
  }
  const other = cause.stream === stream ? '' : `,${JSON.stringify(cause.stream)}`;
  const from = `${cause.seq},${cause.depth}${other}],`; // in one piece, as all that is shorter than 13 characters
  return `{"v":${VERSION},"seq":${seq}${last.text}${from}${encodeBody(body)}`;
}

/** What follows the head, closing brace included. The events of every turn are put together by hand: a third of the time. */
function encodeBody(body: EventBody): string {
  switch (body.type) {
    case 'model.output':
      if (body.parts !== undefined) break;
      return `"type":"model.output","offset":${body.offset},"text":${JSON.stringify(body.text)}}`;
    case 'thought':
      return `"type":"thought","text":${JSON.stringify(body.text)},"depth":${body.depth}}`;
    case 'turn.started':
      if (body.background !== undefined || body.model !== undefined) break;
      return `"type":"turn.started","prompt":${encodePrompt(body.prompt)}}`;
    case 'turn.completed': {
      const { usage, cost_usd, ms, first_token_ms, finish } = body;
      if (typeof finish !== 'string') break; // of a model that somebody wrote himself
      const took = `"cost_usd":${figure(cost_usd)},"ms":${figure(ms)},"first_token_ms":${figure(first_token_ms)}`;
      return `"type":"turn.completed","usage":${encodeUsage(usage)},${took},"finish":${JSON.stringify(finish)}}`;
    }
  }
  return JSON.stringify(body).slice(1);
}

function encodePrompt({ tokens, reused_prefix, hash, frame }: EventOf<'turn.started'>['prompt']): string {
  const figures = `{"tokens":${tokens},"reused_prefix":${reused_prefix}`;
  const hashes = hash === undefined ? '' : `,"hash":${JSON.stringify(hash)}`;
  return `${figures}${hashes}${frame === undefined ? '' : `,"frame":${JSON.stringify(frame)}`}}`;
}

/** Most providers say no more than these two. */
function encodeUsage(usage: Usage): string {
  for (const field in usage) if (field !== 'input' && field !== 'output') return JSON.stringify(usage);
  return `{"input":${figure(usage.input)},"output":${figure(usage.output)}}`;
}

/** What stands behind the whole milliseconds, by the thousandths: the engine takes 100 ns to find out. */
const FRACTIONS: readonly string[] = Array.from({ length: 1000 }, (_, thousandths) =>
  `${thousandths / 1000}`.slice(1),
);
const MOST_BY_HAND = 1e9;

/** As JSON has it, which knows no figure but finite ones. */
function figure(value: number): string {
  const thousandths = Math.round(value * 1000);
  if (value >= 0 && value < MOST_BY_HAND && thousandths / 1000 === value)
    return `${Math.trunc(thousandths / 1000)}${FRACTIONS[thousandths % 1000]}`;
  return Number.isFinite(value) ? `${value}` : 'null';
}

/** The event in a line of the log of `session`. Throws `event_unreadable` or `event_newer`: the log itself is wrong. */
export function decodeEvent(line: string, session: string): SessionEvent {
  const { seq, at, turn, cause, body } = decodeStored(line, session);
  return { seq, at, session, turn, cause, ...(body as EventBody) };
}

interface DecodedLine {
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly cause: Cause;
  /** What the event says; which union it is of, the stream's kind tells. */
  readonly body: object;
}

/** A line of the log of any stream, brought up to date. */
export function decodeStored(line: string, stream: string): DecodedLine {
  let stored = parse(line, stream);
  if (stored.v > VERSION) throw newer(stored, stream);
  while (stored.v < VERSION) {
    const upcast = UPCASTS[stored.v];
    if (upcast === undefined) throw unreadable(stream, line);
    stored = { ...upcast(stored), v: stored.v + 1 };
  }
  const { v: _, seq, at, turn, cause, ...body } = stored;
  const [causeSeq, depth, from = stream] = cause;
  return { seq, at, turn, cause: { stream: from, seq: causeSeq, depth }, body };
}

function parse(line: string, session: string): StoredEvent {
  try {
    const stored = JSON.parse(line) as Partial<StoredEvent> | null;
    if (
      typeof stored?.v === 'number' &&
      typeof stored.seq === 'number' &&
      typeof stored.at === 'number' &&
      typeof stored.turn === 'number' &&
      typeof stored.type === 'string' &&
      Array.isArray(stored.cause)
    )
      return stored as StoredEvent;
  } catch (thrown) {
    throw unreadable(session, line, thrown);
  }
  throw unreadable(session, line);
}

const SHOWN = 80;

const unreadable = (session: string, line: string, cause?: unknown) =>
  new RuntimeError(
    'event_unreadable',
    `The log of ${session} holds a line that is no event: ${JSON.stringify(line.slice(0, SHOWN))}.`,
    { hint: 'The store is damaged: take it from a backup, or export what can still be read.', cause },
  );

const newer = (stored: StoredEvent, session: string) =>
  new RuntimeError(
    'event_newer',
    `Event ${stored.seq} of ${session} was written in form ${stored.v}; this version reads forms up to ${VERSION}.`,
    { hint: 'Use the version of Telltale that wrote it, or a newer one.' },
  );

/** The event of a body at its position on the log. The most frequent events are literals, which are faster than a spread. */
export function placeEvent(
  body: EventBody,
  seq: number,
  at: number,
  session: string,
  turn: number,
  cause: Cause,
): SessionEvent {
  switch (body.type) {
    case 'turn.started':
      if (body.background !== undefined || body.model !== undefined)
        return { ...body, seq, at, session, turn, cause };
      return { type: body.type, prompt: body.prompt, seq, at, session, turn, cause };
    case 'model.output': {
      const { type, offset, text, parts } = body;
      if (parts !== undefined) return { type, offset, text, parts, seq, at, session, turn, cause };
      return { type, offset, text, seq, at, session, turn, cause };
    }
    case 'thought': {
      const { type, text, depth } = body;
      return { type, text, depth, seq, at, session, turn, cause };
    }
    case 'action.declared':
      return { type: body.type, action: body.action, seq, at, session, turn, cause };
    case 'action.started': {
      const { type, id, attempt, input } = body;
      return { type, id, attempt, input, seq, at, session, turn, cause };
    }
    case 'action.completed': {
      const { type, id, output, ms, attempts } = body;
      return { type, id, output, ms, attempts, seq, at, session, turn, cause };
    }
    case 'turn.completed': {
      const { type, usage, cost_usd, ms, first_token_ms, finish } = body;
      return { type, usage, cost_usd, ms, first_token_ms, finish, seq, at, session, turn, cause };
    }
    default:
      return { ...body, seq, at, session, turn, cause };
  }
}
