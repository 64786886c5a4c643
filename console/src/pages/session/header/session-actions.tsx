import { useState } from 'react';
import { useLocation } from 'wouter';
import type { SessionStatus } from '../../../../../telltale/src/events/state.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { useNow } from '../../../data/use-now.ts';
import { Button } from '../../../ui/button.tsx';
import { useSessionView } from '../session-view.ts';
import { SILENT_AFTER_MS } from '../use-moment.ts';
import { CancelSessionDialog } from './cancel-session-dialog.tsx';

const RESUMABLE: ReadonlySet<SessionStatus> = new Set(['failed', 'stalled', 'cancelled']);
const ALIVE: ReadonlySet<SessionStatus> = new Set(['running', 'waiting']);

/** What can be done with the session as it stands now, whatever moment is shown. */
export function SessionActions({ status }: { readonly status: SessionStatus }) {
  const { id, model, moment, isLive } = useSessionView();
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const now = useNow();
  const [, navigate] = useLocation();
  const [isAsking, setAsking] = useState(false);
  const resume = useCall((client, options) => client.resumeSession(id, {}, options));
  const fork = useCall((client, options, seq: number) => client.fork(id, seq, options));
  const onResume = async () => {
    const summary = await resume.run();
    if (summary === undefined) return;
    toasts.say('done', 'The session goes on.');
    model.open();
  };
  const onFork = async () => {
    const summary = await fork.run(moment.seq);
    if (summary === undefined) return;
    toasts.say('done', `A fork from event ${moment.seq} has begun.`);
    navigate(`/sessions/${encodeURIComponent(summary.id)}`);
  };
  const error = resume.error ?? fork.error;
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
      <Button size="small" icon="fork" busy={fork.busy} blocked={blocked} onClick={onFork}>
        {isLive ? 'Fork' : `Fork from ${moment.seq}`}
      </Button>
      {ALIVE.has(status) ? (
        <Button size="small" kind="danger" icon="stop" blocked={blocked} onClick={() => setAsking(true)}>
          Cancel
        </Button>
      ) : null}
      <CancelSessionDialog open={isAsking} onClose={() => setAsking(false)} />
    </>
  );
}
