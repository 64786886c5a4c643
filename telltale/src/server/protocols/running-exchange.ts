import type { SessionEvent } from '../../events/event.ts';
import { readEventPage } from '../../session/read-session.ts';
import type { ServerDeps } from '../server-edges.ts';
import type { Begun } from './current-exchanges.ts';
import type { Elsewhere } from './elsewhere.ts';
import { createExchange } from './exchange/exchange.ts';
import { type Beginning, createExchangeFold } from './exchange/exchange-end.ts';

/** Events that are looked through for the beginning of an exchange; one that is longer is not joined any more. */
const MAX_BACK = 20_000;
const PAGE = 1_000;

/** The exchange that a session is in, begun through another server or before this one started; undefined where none is. */
export async function findRunning(
  { runtime, closing }: Pick<ServerDeps, 'runtime' | 'closing'>,
  elsewhere: Elsewhere,
  id: string,
): Promise<Begun | undefined> {
  const info = await runtime.store.info(id);
  if (info?.status !== 'running' || (await runtime.state(id)).idle) return undefined;
  const first = await lastBeginning(
    (from, limit) => readEventPage(runtime.store, id, from, limit),
    info.head,
  );
  if (first === undefined) return undefined;
  const since = first.seq - 1;
  const { metadata, open, reviews } = await runtime.state(id, since);
  const asking = reviews.filter((review) => review.answer === undefined);
  const fold = createExchangeFold(beginningOf(first), asking, true);
  const exchange = createExchange(elsewhere.session(id, since), { since, fold, replays: false, closing });
  const isNew = first.type === 'session.started';
  return { exchange, metadata: isNew ? undefined : metadata, open: [...open], reviews: asking };
}

/** What began the exchange in hand: the last message of the user, or the session's start. */
async function lastBeginning(
  read: (from: number, limit: number) => Promise<readonly SessionEvent[]>,
  head: number,
): Promise<SessionEvent | undefined> {
  for (let to = head; to > 0 && head - to < MAX_BACK; to -= PAGE) {
    const from = Math.max(1, to - PAGE + 1);
    const found = (await read(from, to - from + 1)).findLast(
      ({ type, ...event }) =>
        type === 'session.started' ||
        (type === 'message.received' && 'from' in event && event.from === 'user'),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

const beginningOf = (event: SessionEvent): Beginning =>
  event.type === 'message.received' ? { kind: 'message', text: event.text } : { kind: 'session' };
