import { RuntimeError } from '../../kernel/runtime-error.ts';
import { tellToEnd } from '../../session/ending/cancel-session.ts';
import { cancelUnowned } from '../../session/ending/cancel-unowned.ts';
import { hasEnded } from '../../session/ending/has-ended.ts';
import { leadRun } from '../../session/guide/lead-run.ts';
import { sendToSession } from '../../session/send-to-session.ts';
import type { StreamInfo } from '../../store/store.ts';
import { resumeSession, unlessOwned } from '../recovery/take-up.ts';
import type { ServerEdges } from '../server-edges.ts';

const DEFAULT_REASON = 'asked to';

/** Ends a session: by whoever works on it, else at once. Nothing is done where it was cancelled before. */
export async function cancelSession(
  edges: ServerEdges,
  { stream, status, owner }: StreamInfo,
  by: string,
  reason: string = DEFAULT_REASON,
): Promise<void> {
  const { runtime, clock } = edges;
  if (owner === undefined && hasEnded(status)) {
    if (status === 'cancelled') return;
    throw sessionEnded(stream, status);
  }
  // A run that leads it may have steps to undo, which takes its agent: it is ended by working on it.
  const lead = owner === undefined ? await runtime.store.info(leadRun(stream)) : undefined;
  const isLed = lead !== undefined && !hasEnded(lead.status);
  const tellRun = (run: StreamInfo, why: string) => tellToEnd(runtime, run.stream, why);
  if (owner === undefined && !isLed && (await cancelUnowned(runtime, stream, { reason, by, clock, tellRun })))
    return;
  await sendToSession(runtime.store, stream, { kind: 'cancel', from: by, body: reason });
  if (isLed) await unlessOwned(resumeSession(edges, stream, { acceptChanges: true, by }));
}

const sessionEnded = (session: string, status: string) =>
  new RuntimeError('session_ended', `${session} has ended already (${status}).`, {
    hint: `See how: GET /sessions/${session}`,
  });
