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

type Take = (event: WatchedEvent) => Promise<void>;

/**
 * Events that were committed just before the last process ended, and that it may not have told anybody of. What it did
 * tell is known by its id.
 */
export async function lookBack(store: Pick<Store, 'tables' | 'list' | 'read'>, take: Take): Promise<void> {
  const mark = await store.tables.get(TABLE, KEY);
  if (typeof mark !== 'number') return;
  await takeBetween(store, mark - MARGIN_MS, mark + MARK_EVERY_MS + MARGIN_MS, take);
}

/**
 * In a fleet the others go on writing the mark when one dies: what that one committed last is looked at once it is known
 * to be dead. Gives a function that does so for all that have died since it was called before.
 */
export function createLookAfterDead(
  store: Pick<Store, 'list' | 'read' | 'shared'>,
  take: Take,
): (now: number) => Promise<void> {
  let known: ReadonlySet<number> = new Set();
  return async (now) => {
    const dead = ((await store.shared?.workers()) ?? []).filter(({ alive }) => !alive);
    for (const { quietMs } of dead.filter(({ id }) => !known.has(id))) {
      const heardAt = now - quietMs;
      await takeBetween(store, heardAt - MARGIN_MS, heardAt + MARGIN_MS, take);
    }
    known = new Set(dead.map(({ id }) => id));
  };
}

async function takeBetween(
  store: Pick<Store, 'list' | 'read'>,
  from: number,
  until: number,
  take: Take,
): Promise<void> {
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
