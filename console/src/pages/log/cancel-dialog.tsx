import { type ReactNode, useState } from 'react';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextArea } from '../../ui/text-area.tsx';

export interface CancelDialogProps {
  readonly kind: 'session' | 'run';
  readonly id: string;
  readonly open: boolean;
  readonly onClose: () => void;
  /** Says what happens to running actions and to finished ones. */
  readonly children: ReactNode;
}

/** Cancelling stops what is running, so the person must confirm. */
export function CancelDialog({ kind, id, open, onClose, children }: CancelDialogProps) {
  const { toasts } = useData();
  const [reason, setReason] = useState('');
  const cancel = useCall(async (client, options, why: string) => {
    const cancelled = kind === 'session' ? client.cancelSession : client.cancelRun;
    await cancelled(id, why === '' ? undefined : why, options);
    return true;
  });
  const onCancel = async () => {
    if ((await cancel.run(reason.trim())) === undefined) return;
    toasts.say('info', `The ${kind} is being cancelled. What is running is stopped first.`);
    onClose();
  };
  return (
    <Dialog
      title={`Cancel this ${kind}?`}
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Keep it running</Button>
          <Button kind="danger" icon="stop" busy={cancel.busy} onClick={() => void onCancel()}>
            Cancel the {kind}
          </Button>
        </>
      }
    >
      <p className="mb-3 text-body text-ink-soft">{children}</p>
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
