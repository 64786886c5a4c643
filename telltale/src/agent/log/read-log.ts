import { RuntimeError } from '../../lib/errors.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { Cause, SessionEvent } from '../../log/event.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { Store, StreamInfo } from '../../store/store.ts';

export interface CauseChain {
  /** From the event that was asked for to the first cause. */
  readonly events: readonly StreamEvent[];
  /** A cause that is in no log any more. */
  readonly lost?: Cause;
}

/** Causes of causes: a chain that is longer is no explanation. */
const MAX_CHAIN = 10_000;

/** Why an event happened, across streams: from a run to the session that set it off, and to whoever called that. */
export async function causeChain(
  store: Store,
  stream: string,
  seq: number,
  head: number,
): Promise<CauseChain> {
  const asked = await readAnyEvent(store, stream, seq);
  if (asked === undefined) throw eventUnknown(stream, seq, head);
  const events = [asked];
  const seen = new Set([placeOf({ stream, seq })]);
  for (let { cause } = asked; cause.seq !== 0; ) {
    if (seen.has(placeOf(cause)) || events.length === MAX_CHAIN) throw causeCircle(stream, seq);
    seen.add(placeOf(cause));
    const event = await readAnyEvent(store, cause.stream, cause.seq);
    if (event === undefined) return { events, lost: cause };
    events.push(event);
    cause = event.cause;
  }
  return { events };
}

const placeOf = ({ stream, seq }: Pick<Cause, 'stream' | 'seq'>) => `${seq} ${stream}`;

const causeCircle = (stream: string, seq: number) =>
  new RuntimeError(
    'cause_circle',
    `The causes of event ${seq} of ${stream} lead nowhere: they go in a circle.`,
    {
      hint: 'The log is damaged. Restore the store from a backup.',
    },
  );

const PAGE = 500;

export interface LogRange {
  readonly from?: number;
  readonly to?: number;
}

/** The committed events of a session, from `from` to `to`, read page by page: a long log costs no more memory. */
export const readLog = (store: Store, stream: string, range: LogRange = {}): AsyncGenerator<SessionEvent> =>
  readLines(store, stream, range, (line) => decodeEvent(line, stream));

/** The same for a session or a run. */
export const readStream = (store: Store, ref: StreamRef, range: LogRange = {}): AsyncGenerator<StreamEvent> =>
  readLines(store, ref.stream, range, (line) => decodeLine(line, ref));

async function* readLines<Event>(
  store: Store,
  stream: string,
  { from = 1, to = Number.POSITIVE_INFINITY }: LogRange,
  decode: (line: string) => Event,
): AsyncGenerator<Event> {
  for (let next = from; next <= to; ) {
    const lines = await store.read(stream, { from: next, limit: Math.min(PAGE, to - next + 1) });
    if (lines.length === 0) return;
    for (const line of lines) yield decode(line);
    next += lines.length;
  }
}

/** One event of a session; undefined if there is none of that seq. */
export async function readEvent(
  store: Store,
  stream: string,
  seq: number,
): Promise<SessionEvent | undefined> {
  const [line] = await store.read(stream, { from: seq, limit: 1 });
  return line === undefined ? undefined : decodeEvent(line, stream);
}

/** One event of any log; undefined if there is none, or no such log. */
export async function readAnyEvent(
  store: Store,
  stream: string,
  seq: number,
): Promise<StreamEvent | undefined> {
  const info = await store.info(stream);
  if (info === undefined) return undefined;
  const [line] = await store.read(stream, { from: seq, limit: 1 });
  return line === undefined ? undefined : decodeLine(line, info);
}

/** The state that is being read of a log, if that is the one after `seq`; 0 is before the first event. */
export async function stateAt<State extends { readonly seq: number }>(
  store: Pick<Store, 'info'>,
  stream: string,
  seq: number | undefined,
  reading: Promise<State>,
): Promise<State> {
  const state = await reading;
  if (seq === undefined || state.seq === seq) return state;
  throw eventUnknown(stream, seq, (await store.info(stream))?.head ?? state.seq);
}

/** An event of a session or of a workflow run. */
export type StreamEvent = SessionEvent | RunEvent;

export type StreamRef = Pick<StreamInfo, 'stream' | 'kind'>;

export const isRunEvent = (event: StreamEvent): event is RunEvent => !('session' in event);

/** The log that it stands on. */
export const streamOf = (event: StreamEvent): string => (isRunEvent(event) ? event.run : event.session);

export function decodeLine(line: string, { stream, kind }: StreamRef): StreamEvent {
  switch (kind) {
    case 'session':
      return decodeEvent(line, stream);
    case 'run':
      return decodeRunEvent(line, stream);
  }
}

export const eventUnknown = (session: string, seq: number, head: number) =>
  new RuntimeError('event_unknown', `${session} has no event ${seq}. Its last event is ${head}.`, {
    hint: `List its events: telltale logs ${session}`,
  });
