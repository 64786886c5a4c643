import { RuntimeError } from '../kernel/runtime-error.ts';
import type { EventBody, EventHead, SessionEvent } from './event.ts';

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
export function encodeEvent(head: EventHead, body: EventBody): string {
  const { cause } = head;
  const other = cause.stream === head.session ? '' : `,${JSON.stringify(cause.stream)}`;
  const front = `{"v":${VERSION},"seq":${head.seq},"at":${head.at},"turn":${head.turn},"cause":[${cause.seq},${cause.depth}${other}],`;
  return front + encodeBody(body);
}

/** What follows the head, closing brace included. The events of every turn are put together by hand: a third of the time. */
function encodeBody(body: EventBody): string {
  switch (body.type) {
    case 'model.output':
      return `"type":"model.output","offset":${body.offset},"text":${JSON.stringify(body.text)}}`;
    case 'thought':
      return `"type":"thought","text":${JSON.stringify(body.text)},"depth":${body.depth}}`;
    case 'turn.started':
      return `"type":"turn.started","prompt":{"tokens":${body.prompt.tokens},"reused_prefix":${body.prompt.reused_prefix}}}`;
    default:
      return JSON.stringify(body).slice(1);
  }
}

/** The event in a line of the log of `session`. Throws `event_unreadable` or `event_newer`: the log itself is wrong. */
export function decodeEvent(line: string, session: string): SessionEvent {
  let stored = parse(line, session);
  if (stored.v > VERSION) throw newer(stored, session);
  while (stored.v < VERSION) {
    const upcast = UPCASTS[stored.v];
    if (upcast === undefined) throw unreadable(session, line);
    stored = { ...upcast(stored), v: stored.v + 1 };
  }
  const { v: _, seq, at, turn, cause, ...body } = stored;
  const [causeSeq, depth, stream = session] = cause;
  return {
    seq,
    at,
    session,
    turn,
    cause: { stream, seq: causeSeq, depth },
    ...(body as EventBody),
  };
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
