import { decodeEvent } from '../../events/codec.ts';
import type { SessionEvent } from '../../events/event.ts';
import type { Store } from '../../store/store.ts';
import { decodeLine, type StreamEvent, type StreamRef } from './stream-event.ts';

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
