import { decodeEvent } from '../../events/codec.ts';
import { decodeRunEvent } from '../../events/run-codec.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { mayBeNotice } from './notice.ts';
import type { WatchedEvent } from './stream-place.ts';

const TABLE = 'notify.mark';
const KEY = 'at';

/** How often it is written down how far that got. */
export const MARK_EVERY_MS = 30_000;
/** What was on its way into the store when it was written down. */
const MARGIN_MS = 30_000;
const MAX_STREAMS = 500;
const MAX_EVENTS = 500;

export const writeMark = (store: Pick<Store, 'tables'>, at: number): Promise<void> =>
  store.tables.set(TABLE, KEY, at);

/**
 * Events that were committed just before the last process ended, and that it may not have told anybody of. What it did
 * tell is known by its id.
 */
export async function lookBack(
  store: Pick<Store, 'tables' | 'list' | 'read'>,
  take: (event: WatchedEvent) => Promise<void>,
): Promise<void> {
  const mark = await store.tables.get(TABLE, KEY);
  if (typeof mark !== 'number') return;
  const [from, until] = [mark - MARGIN_MS, mark + MARK_EVERY_MS + MARGIN_MS];
  const streams = (await store.list({ limit: MAX_STREAMS })).filter(({ updatedAt }) => updatedAt >= from);
  for (const info of streams)
    for (const event of await tailOf(store, info))
      if (event.at >= from && event.at <= until && mayBeNotice(event)) await take(event);
}

async function tailOf(
  store: Pick<Store, 'read'>,
  { stream, kind, head }: StreamInfo,
): Promise<readonly WatchedEvent[]> {
  const lines = await store.read(stream, { from: Math.max(1, head - MAX_EVENTS + 1) });
  return lines.map((line) => (kind === 'run' ? decodeRunEvent(line, stream) : decodeEvent(line, stream)));
}
