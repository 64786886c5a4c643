import { useState } from 'react';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { useRunView } from './run-view.ts';

/** Cancelling stops what runs: it is asked twice. */
export function CancelRunDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { id } = useRunView();
  const { toasts } = useData();
  const [reason, setReason] = useState('');
  const cancel = useCall((client, options, why: string) =>
    client.cancelRun(id, why === '' ? undefined : why, options).then(() => true),
  );
  const onCancel = async () => {
    if ((await cancel.run(reason.trim())) === undefined) return;
    toasts.say('info', 'The run is being cancelled: what runs is stopped first.');
    onClose();
  };
  return (
    <Dialog
      title="Cancel this run?"
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Let it go on</Button>
          <Button kind="danger" icon="stop" busy={cancel.busy} onClick={() => void onCancel()}>
            Cancel the run
          </Button>
        </>
      }
    >
      <p className="mb-3 text-body text-ink-soft">
        Steps that run are aborted. Those that were done and say how to be undone are undone, the last first;
        all of it stays on the log.
      </p>
      <TextArea
        label="Reason"
        optional
        rows={2}
        value={reason}
        onText={setReason}
        onSubmit={() => void onCancel()}
        error={cancel.error?.message}
      />
    </Dialog>
  );
}
