import { useState } from 'react';
import type { RunStatus } from '../../../../telltale/src/events/run-state.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { CancelRunDialog } from './cancel-run-dialog.tsx';
import { useRunView } from './run-view.ts';
import { SignalDialog } from './signal-dialog.tsx';

const ENDED: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled']);

/** What can be done with the run as it stands now, whatever moment is shown. */
export function RunActions() {
  const { id, model } = useRunView();
  const { status, cancelling, reviews } = model.stateAt();
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const [asks, setAsks] = useState<'cancel' | 'signal'>();
  const resume = useCall((client, options) => client.resumeRun(id, {}, options));
  const isAlive = !ENDED.has(status);
  const isAsked = reviews.some(({ choice }) => choice === undefined);
  const onResume = async () => {
    if ((await resume.run()) === undefined) return;
    toasts.say('done', 'The run goes on.');
    model.open();
  };
  return (
    <>
      {resume.error === undefined ? null : (
        <p role="alert" className="text-small text-fail" title={resume.error.hint}>
          {resume.error.message}
        </p>
      )}
      {status === 'waiting' && !isAsked ? (
        <Button size="small" icon="bolt" blocked={blocked} onClick={() => setAsks('signal')}>
          Send a signal
        </Button>
      ) : null}
      {status === 'failed' || status === 'cancelled' || status === 'waiting' ? (
        <Button size="small" icon="play" busy={resume.busy} blocked={blocked} onClick={() => void onResume()}>
          Resume
        </Button>
      ) : null}
      {isAlive ? (
        <Button
          size="small"
          kind="danger"
          icon="stop"
          blocked={blocked ?? (cancelling === undefined ? undefined : 'It is being cancelled.')}
          onClick={() => setAsks('cancel')}
        >
          Cancel
        </Button>
      ) : null}
      <CancelRunDialog open={asks === 'cancel'} onClose={() => setAsks(undefined)} />
      <SignalDialog open={asks === 'signal'} onClose={() => setAsks(undefined)} />
    </>
  );
}
