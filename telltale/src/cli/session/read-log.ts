import { decodeEvent } from '../../events/codec.ts';
import type { SessionEvent } from '../../events/event.ts';
import type { Store } from '../../store/store.ts';

const PAGE = 500;

/** The committed events of a stream, from `from` to `to`, read page by page: a long log costs no more memory. */
export async function* readLog(
  store: Store,
  stream: string,
  { from = 1, to = Number.POSITIVE_INFINITY }: { readonly from?: number; readonly to?: number } = {},
): AsyncGenerator<SessionEvent> {
  for (let next = from; next <= to; ) {
    const lines = await store.read(stream, { from: next, limit: Math.min(PAGE, to - next + 1) });
    if (lines.length === 0) return;
    for (const line of lines) yield decodeEvent(line, stream);
    next += lines.length;
  }
}

/** One event; undefined if there is none of that seq. */
export async function readEvent(
  store: Store,
  stream: string,
  seq: number,
): Promise<SessionEvent | undefined> {
  const [line] = await store.read(stream, { from: seq, limit: 1 });
  return line === undefined ? undefined : decodeEvent(line, stream);
}
