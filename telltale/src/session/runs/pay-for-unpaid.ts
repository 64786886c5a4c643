import { readRun } from '../../engine/read-run.ts';
import { decodeEvent } from '../../events/codec.ts';
import type { Store } from '../../store/store.ts';
import type { SessionLog } from '../session-log.ts';
import { payForFeed } from './pay-for-run.ts';
import { isOver, resultOf } from './run-end.ts';

/** Of a session's runs, the newest: one of whose end nobody was told was under way when the process died. */
const MAX_LISTED = 256;
/** Of those, runs of feeds; 16 are under way at a time. */
const MAX_READ = 64;
/** Events at the end of the session's log that are looked through for what was paid. */
const MAX_LOOKED_AT = 1_000;

/**
 * After a restart: pays for runs of feeds that have ended without a `child.usage` on the session's log, since the process
 * died in between. Of those in `open` the end is still to be heard of. Only runs count that began behind the first event
 * that is looked at, so that none is paid for twice; which feed asked is not known any more.
 */
export async function payForUnpaid(
  log: SessionLog,
  store: Store,
  prefix: string,
  open: readonly string[],
): Promise<void> {
  const { id: session, seq: head } = log.state;
  const known = await store.list({ kind: 'run', parent: session, limit: MAX_LISTED });
  const ended = known
    .filter(({ stream, head: last }) => stream.startsWith(prefix) && last > 0 && !open.includes(stream))
    .slice(0, MAX_READ);
  if (ended.length === 0) return;
  const from = Math.max(1, head - MAX_LOOKED_AT + 1);
  const paid = await paidFrom(store, session, from);
  for (const { stream } of ended) {
    if (paid.has(stream)) continue;
    const state = await readRun(store, stream);
    const { used } = resultOf(state);
    const isWhole = (state.origin.session?.seq ?? 0) >= from - 1;
    if (used !== undefined && isWhole && isOver(state.status)) payForFeed(log, state.workflow, stream, used);
  }
}

async function paidFrom(store: Store, session: string, from: number): Promise<ReadonlySet<string>> {
  const paid = new Set<string>();
  for (const line of await store.read(session, { from, limit: MAX_LOOKED_AT })) {
    const event = decodeEvent(line, session);
    if (event.type === 'child.usage') paid.add(event.child.session);
  }
  return paid;
}
