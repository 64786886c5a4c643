import { useState } from 'react';
import { identityText } from '../../../../telltale/src/kernel/identity.ts';
import { Icon } from '../../ui/icon.tsx';
import { QuarantineNotice } from '../log/quarantine.tsx';
import { StoppedNotice } from '../log/stopped-notice.tsx';
import { ChangesDialog } from './changes-dialog.tsx';
import { useRunView } from './run-view.ts';

/** What is amiss: with the run, or with what is known of it. */
export function RunNotices() {
  const { id, model, state } = useRunView();
  const [isAsking, setAsking] = useState(false);
  const following = model.following();
  const { error, status, cancelling } = state;
  return (
    <>
      <QuarantineNotice
        {...{ kind: 'run', id }}
        seq={model.events.length}
        onReleased={model.open}
        onShowChanges={() => setAsking(true)}
      />
      <ChangesDialog open={isAsking} onClose={() => setAsking(false)} onResumed={model.open} />
      {following.kind === 'lost' || following.kind === 'refused' ? (
        <StoppedNotice kind="run" message={following.error.message} onRetry={model.open} />
      ) : null}
      {cancelling !== undefined && (status === 'running' || status === 'waiting') ? (
        <p role="status" className="flex gap-2 rounded-lg bg-off-soft px-3 py-2 text-small">
          <Icon name="stop" size={14} className="mt-0.5 text-off" />
          {identityText(cancelling.by)} is cancelling this run: {cancelling.reason}. Running steps are
          stopped, and undone where possible.
        </p>
      ) : null}
      {error === undefined ? null : status === 'cancelled' ? (
        <p role="status" className="flex gap-2 rounded-lg bg-off-soft px-3 py-2">
          <Icon name="slash" className="mt-0.5 text-off" />
          <span className="min-w-0 break-words">
            <strong className="font-semibold">This run was cancelled.</strong> {error.message}
          </span>
        </p>
      ) : (
        <div role="status" className="flex gap-2.5 rounded-lg border border-fail/40 bg-fail-soft px-3 py-2">
          <Icon name="alert" className="mt-0.5 text-fail" />
          <div className="min-w-0">
            <p className="font-semibold break-words">{error.message}</p>
            {error.hint === undefined ? null : <p className="break-words text-ink-soft">{error.hint}</p>}
            <code className="text-small text-ink-soft">{error.code}</code>
          </div>
        </div>
      )}
    </>
  );
}
