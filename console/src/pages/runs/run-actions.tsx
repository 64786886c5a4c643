import { useState } from 'react';
import { useLocation } from 'wouter';
import type { RunState } from '../../../../telltale/src/events/run-state.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useNow } from '../../data/use-now.ts';
import { Button } from '../../ui/button.tsx';
import { CancelDialog } from '../log/cancel-dialog.tsx';
import { runPath } from '../workflows/paths.ts';
import { ChangesDialog } from './changes-dialog.tsx';
import { useRunView } from './run-view.ts';
import { SignalDialog } from './signal-dialog.tsx';

/** A run that should go on and says nothing for so long may have nobody who works on it. */
const QUIET_MS = 30_000;

const hasEnded = ({ status }: RunState): boolean => status !== 'running' && status !== 'waiting';

/** What can be done with the run as it stands now, whatever moment is shown. */
export function RunActions() {
  const { id, model } = useRunView();
  const state = model.stateAt();
  const { status, cancelling, reviews, origin, manifest, workflow, input } = state;
  const { toasts } = useData();
  const [, navigate] = useLocation();
  const blocked = useBlocked('run');
  const now = useNow();
  const [asks, setAsks] = useState<'cancel' | 'signal' | 'changes'>();
  const resume = useCall((client, options) => client.resumeRun(id, {}, options));
  const again = useCall((client, options) =>
    client.startRun({ agent: manifest.agent, workflow, input }, options),
  );
  const isAsked = reviews.some(({ choice }) => choice === undefined);
  const isQuiet = status === 'running' && now - state.at > QUIET_MS;
  const error = resume.error ?? again.error;
  const onResumed = () => {
    toasts.say('done', 'The run continues.');
    model.open();
  };
  const onResume = async () => {
    if ((await resume.run()) !== undefined) onResumed();
  };
  const isChanged = resume.error?.code === 'manifest_changed';
  const onAgain = async () => {
    const run = await again.run();
    if (run !== undefined) navigate(runPath(run.id));
  };
  return (
    <>
      {error === undefined ? null : (
        <p role="alert" className="max-w-md text-small text-fail" title={error.hint}>
          {error.message}
        </p>
      )}
      {status === 'waiting' && !isAsked ? (
        <Button size="small" icon="bolt" blocked={blocked} onClick={() => setAsks('signal')}>
          Send a signal
        </Button>
      ) : null}
      {isQuiet && origin.leads !== true ? (
        <Button size="small" icon="play" busy={resume.busy} blocked={blocked} onClick={() => void onResume()}>
          Resume
        </Button>
      ) : null}
      {hasEnded(state) && origin.session === undefined && origin.parent === undefined ? (
        <Button
          size="small"
          icon="refresh"
          title="With the same input"
          busy={again.busy}
          blocked={blocked}
          onClick={() => void onAgain()}
        >
          Run it again
        </Button>
      ) : null}
      {hasEnded(state) ? null : (
        <Button
          size="small"
          kind="danger"
          icon="stop"
          blocked={blocked ?? (cancelling === undefined ? undefined : 'The run is being cancelled.')}
          onClick={() => setAsks('cancel')}
        >
          Cancel
        </Button>
      )}
      {isChanged ? (
        <Button size="small" blocked={blocked} onClick={() => setAsks('changes')}>
          Show the changes
        </Button>
      ) : null}
      <ChangesDialog
        open={asks === 'changes'}
        onClose={() => setAsks(undefined)}
        onResumed={() => {
          resume.forget();
          onResumed();
        }}
      />
      <CancelDialog kind="run" id={id} open={asks === 'cancel'} onClose={() => setAsks(undefined)}>
        Running steps are stopped. Completed steps that define how to undo them are undone, the last one
        first. The log keeps everything.
      </CancelDialog>
      <SignalDialog open={asks === 'signal'} onClose={() => setAsks(undefined)} />
    </>
  );
}
