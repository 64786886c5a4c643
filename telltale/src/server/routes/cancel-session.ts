import { RuntimeError } from '../../kernel/runtime-error.ts';
import { cancelSession as endSession } from '../../session/ending/cancel-session.ts';
import { tellToEnd } from '../../session/ending/tell-to-end.ts';
import { sendToSession } from '../../session/send-to-session.ts';
import type { StreamInfo } from '../../store/store.ts';
import { OVER, resumeSession, unlessOwned } from '../recovery/take-up.ts';
import type { ServerDeps } from '../server-edges.ts';

const DEFAULT_REASON = 'asked to';

/** Ends a session: by whoever works on it, else at once. Nothing is done where it was cancelled before. */
export async function cancelSession(
  edges: ServerDeps,
  { stream }: Pick<StreamInfo, 'stream'>,
  by: string,
  reason: string = DEFAULT_REASON,
): Promise<void> {
  const { runtime, clock } = edges;
  const { store } = runtime;
  const tellRun = (run: StreamInfo, why: string) => tellToEnd(runtime, run.stream, why);
  const cancelled = await endSession(store, stream, { reason, by, clock, tellRun });
  if (cancelled.kind === 'ended_before' && cancelled.status !== 'cancelled')
    throw sessionEnded(stream, cancelled.status);
  if (cancelled.kind !== 'to_undo') return;
  await sendToSession(store, stream, { kind: 'cancel', from: by, body: reason });
  const place = runtime.places?.reserve('session', stream);
  // Without a place the message in its inbox has it taken up by whoever has one first.
  if (runtime.places !== undefined && place === undefined) return;
  try {
    // By the runtime itself: one that has ended meanwhile is not resumed.
    await unlessOwned(resumeSession(edges, stream, { acceptChanges: true }), OVER);
  } finally {
    place?.release();
  }
}

const sessionEnded = (session: string, status: string) =>
  new RuntimeError('session_ended', `${session} has ended already (${status}).`, {
    hint: `See how: GET /sessions/${session}`,
  });
