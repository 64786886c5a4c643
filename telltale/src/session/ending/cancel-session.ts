import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { leadRun } from '../guide/lead-run.ts';
import { readSession } from '../read-session.ts';
import { RUN_CANCEL } from '../runs/run-messages.ts';
import type { Runtime } from '../runtime-types.ts';
import { sendToSession } from '../send-to-session.ts';
import { cancelUnowned, cancelUnownedRun } from './cancel-unowned.ts';
import { hasEnded } from './has-ended.ts';
import { wayToEnd } from './way-to-end.ts';

export interface CancelEdges {
  readonly store: Store;
  readonly clock: Clock;
  readonly workflows: Pick<Runtime['workflows'], 'cancel'>;
}

/**
 * Ends a session, whoever works on it: through its inbox, or at once where nobody does. One whose run has steps to undo
 * ends when it is resumed, since that takes its agent. One that has ended stays as it is.
 */
export async function cancelSession(
  edges: CancelEdges,
  session: string,
  reason: string,
  by: string,
): Promise<void> {
  const { store, clock } = edges;
  const info = await store.info(session);
  if (info !== undefined && info.owner === undefined) {
    if (hasEnded(info.status)) return;
    const tellRun = (run: StreamInfo, why: string) => tellToEnd(edges, run.stream, why);
    const ends = { reason, by, clock, tellRun };
    const reader = { store, state: (id: string) => readSession(store, id) };
    if (
      (await isFree(store, session, { ...ends, by: session })) &&
      (await cancelUnowned(reader, session, ends))
    )
      return;
  }
  await sendToSession(store, session, { kind: 'cancel', from: by, body: reason });
}

/** Whether no run leads it: one that has nothing to undo ends here, before it. */
async function isFree(
  store: Store,
  session: string,
  ends: Parameters<typeof cancelUnownedRun>[2],
): Promise<boolean> {
  const lead = await store.info(leadRun(session));
  if (lead === undefined || hasEnded(lead.status)) return true;
  if (lead.owner !== undefined || (await wayToEnd(store, lead)) !== 'at once') return false;
  return cancelUnownedRun(store, lead.stream, ends);
}

/** Has a run worked on that is to end. Where that cannot be, the word is there for whoever can. */
export async function tellToEnd(
  { store, workflows }: Pick<CancelEdges, 'store' | 'workflows'>,
  run: string,
  reason: string,
): Promise<void> {
  try {
    await workflows.cancel(run, reason, 'session');
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'manifest_changed') throw thrown;
    await store.send(run, { kind: RUN_CANCEL, from: 'session', body: reason });
  }
}
