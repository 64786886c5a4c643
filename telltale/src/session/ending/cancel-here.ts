import type { Clock } from '../../kernel/clock.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import type { Runtime } from '../runtime-types.ts';
import { sendToSession } from '../send-to-session.ts';
import { cancelSession } from './cancel-session.ts';
import { tellToEnd } from './tell-to-end.ts';

export interface CancelDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly workflows: Pick<Runtime['workflows'], 'cancel'>;
}

/** For whoever has a runtime and no agent: what takes one waits in the session's inbox for who resumes it. */
export async function cancelHere(
  deps: CancelDeps,
  session: string,
  reason: string,
  by: string,
): Promise<void> {
  const { store, clock } = deps;
  const tellRun = (run: StreamInfo, why: string) => tellToEnd(deps, run.stream, why);
  const { kind } = await cancelSession(store, session, { reason, by, clock, tellRun });
  if (kind === 'to_undo') await sendToSession(store, session, { kind: 'cancel', from: by, body: reason });
}
