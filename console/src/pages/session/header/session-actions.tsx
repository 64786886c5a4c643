import { useState } from 'react';
import type { SessionStatus } from '../../../../../telltale/src/log/state.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { useNow } from '../../../data/use-now.ts';
import { Button } from '../../../ui/button.tsx';
import { CancelDialog } from '../../log/cancel-dialog.tsx';
import { usualFork } from '../model/fork-points.ts';
import { useSessionView } from '../session-view.ts';
import { SILENT_AFTER_MS } from '../use-moment.ts';
import { ForkDialog } from './fork-dialog.tsx';

const RESUMABLE: ReadonlySet<SessionStatus> = new Set(['failed', 'stalled', 'cancelled']);
const ALIVE: ReadonlySet<SessionStatus> = new Set(['running', 'waiting']);

/** What can be done with the session in its current state, whatever moment is shown. */
export function SessionActions({ status }: { readonly status: SessionStatus }) {
  const { id, model, moment, isLive } = useSessionView();
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const now = useNow();
  const [isAsking, setAsking] = useState(false);
  const [forkFrom, setForkFrom] = useState<number>();
  const resume = useCall((client, options) => client.resumeSession(id, {}, options));
  const onResume = async () => {
    const summary = await resume.run();
    if (summary === undefined) return;
    toasts.say('done', 'The session continues.');
    model.open();
  };
  const { error } = resume;
  const isSilent = status === 'running' && now - model.waterfall.end > SILENT_AFTER_MS;
  return (
    <>
      {error === undefined ? null : (
        <p role="alert" className="text-small text-fail" title={error.hint}>
          {error.message}
        </p>
      )}
      {RESUMABLE.has(status) || isSilent ? (
        <Button size="small" icon="play" busy={resume.busy} blocked={blocked} onClick={onResume}>
          Resume
        </Button>
      ) : null}
      <Button
        size="small"
        icon="fork"
        blocked={blocked}
        onClick={() => setForkFrom(isLive ? usualFork(model.events, !ALIVE.has(status)) : moment.seq)}
      >
        {isLive ? 'Fork' : `Fork from ${moment.seq}`}
      </Button>
      {ALIVE.has(status) ? (
        <Button size="small" kind="danger" icon="stop" blocked={blocked} onClick={() => setAsking(true)}>
          Cancel
        </Button>
      ) : null}
      <ForkDialog open={forkFrom !== undefined} from={forkFrom ?? 1} onClose={() => setForkFrom(undefined)} />
      <CancelDialog kind="session" id={id} open={isAsking} onClose={() => setAsking(false)}>
        Running actions and sub-agents are stopped. What they did stays done, and the log keeps it. You can
        resume a cancelled session.
      </CancelDialog>
    </>
  );
}
