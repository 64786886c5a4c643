import { useState } from 'react';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { TextArea } from '../../../ui/text-area.tsx';
import { useSessionView } from '../session-view.ts';

/** Cancelling stops what runs: it is asked twice. */
export function CancelDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { id } = useSessionView();
  const { toasts } = useData();
  const [reason, setReason] = useState('');
  const cancel = useCall((client, options, why: string) =>
    client.cancelSession(id, why === '' ? undefined : why, options).then(() => true),
  );
  const onCancel = async () => {
    if ((await cancel.run(reason.trim())) === undefined) return;
    toasts.say('info', 'The session is being cancelled: what runs is stopped first.');
    onClose();
  };
  return (
    <Dialog
      title="Cancel this session?"
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Let it go on</Button>
          <Button kind="danger" icon="stop" busy={cancel.busy} onClick={onCancel}>
            Cancel the session
          </Button>
        </>
      }
    >
      <p className="mb-3 text-body text-ink-soft">
        Actions that run are aborted, and so are sub-agents. What was done stays done and stays on the log; a
        cancelled session can be resumed.
      </p>
      <TextArea
        label="Reason"
        optional
        rows={2}
        value={reason}
        onText={setReason}
        onSubmit={onCancel}
        error={cancel.error?.message}
      />
    </Dialog>
  );
}
