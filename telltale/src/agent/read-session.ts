import { RuntimeError } from '../lib/errors.ts';
import { decodeEvent } from '../log/codec.ts';
import type { SessionEvent } from '../log/event.ts';
import { fold, reduce } from '../log/reduce.ts';
import { createSnapshotWriter, restoreSnapshot, type SnapshotWriter } from '../log/snapshot.ts';
import { emptyState, type SessionState } from '../log/state.ts';
import type { Store } from '../store/store.ts';

/** Events that are read at a time. */
const PAGE = 2_000;

/** The committed events of a session, from `from` on. */
export async function readEvents(
  store: Store,
  session: string,
  from = 1,
  signal?: AbortSignal,
): Promise<SessionEvent[]> {
  signal?.throwIfAborted();
  if ((await store.info(session)) === undefined) throw sessionUnknown(session, store.location);
  const events: SessionEvent[] = [];
  for await (const page of pages(store, session, from, signal)) events.push(...page);
  return events;
}

/** As `readEvents`, `limit` at the most. */
export async function readEventPage(
  store: Store,
  session: string,
  from: number,
  limit: number,
): Promise<readonly SessionEvent[]> {
  return (await store.read(session, { from, limit })).map((line) => decodeEvent(line, session));
}

/** The state of a session after all its committed events, or after `seq`. */
export async function readSession(
  store: Store,
  session: string,
  seq?: number,
  signal?: AbortSignal,
): Promise<SessionState> {
  signal?.throwIfAborted();
  if ((await store.info(session)) === undefined) throw sessionUnknown(session, store.location);
  const state = await fromSnapshots(store, session, seq ?? Number.POSITIVE_INFINITY);
  for await (const page of pages(store, session, state.seq + 1, signal)) {
    const wanted = seq === undefined ? page : page.filter((event) => event.seq <= seq);
    fold(wanted, state);
    if (wanted.length < page.length) break;
  }
  return state;
}

/**
 * A session as it is taken up again: its state, and the writer of its further snapshots, which knows all that no
 * snapshot holds yet.
 */
export async function openSession(
  store: Store,
  session: string,
): Promise<{ readonly state: SessionState; readonly snapshots: SnapshotWriter }> {
  const state = await fromSnapshots(store, session, Number.POSITIVE_INFINITY);
  const snapshots = createSnapshotWriter(state);
  for await (const page of pages(store, session, state.seq + 1))
    for (const event of page) {
      reduce(state, event);
      snapshots.note(event);
    }
  return { state, snapshots };
}

/** What the snapshots up to `seq` stand for. Those that cannot be read are left out: the log has it all. */
async function fromSnapshots(store: Store, session: string, seq: number): Promise<SessionState> {
  const parts = (await store.snapshots(session)).filter((part) => part.seq <= seq);
  if (parts.length === 0) return emptyState();
  try {
    return restoreSnapshot(parts.map(({ body }) => body));
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'snapshot_unreadable') return emptyState();
    throw thrown;
  }
}

async function* pages(
  store: Store,
  session: string,
  from: number,
  signal?: AbortSignal,
): AsyncGenerator<SessionEvent[], void> {
  for (let next = from; ; ) {
    signal?.throwIfAborted();
    const lines = await store.read(session, { from: next, limit: PAGE });
    if (lines.length > 0) yield lines.map((line) => decodeEvent(line, session));
    if (lines.length < PAGE) return;
    next += lines.length;
  }
}

export const sessionUnknown = (session: string, location: string) =>
  new RuntimeError('session_unknown', `No session "${session}" is in ${location}.`, {
    hint: 'List them: telltale sessions',
  });

export const sessionEmpty = (session: string) =>
  new RuntimeError('session_empty', `${session} was made, but nothing is on its log: it never began.`, {
    hint: 'Start it again under the same id.',
  });
