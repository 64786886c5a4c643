import { useState } from 'react';
import type { JsonObject } from '../../../../telltale/src/kernel/json.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { readObject } from '../workflows/input-fields.ts';
import { useRunView } from './run-view.ts';

/** Gives a run the event that one of its steps waits for. */
export function SignalDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const { id, state } = useRunView();
  const { toasts } = useData();
  const [event, setEvent] = useState('');
  const [json, setJson] = useState('');
  const send = useCall((client, options, name: string, data: JsonObject) =>
    client.signalRun(id, name, data, options).then(() => true),
  );
  const data = readObject(json);
  const onSend = async () => {
    if (event.trim() === '' || typeof data === 'string') return;
    if ((await send.run(event.trim(), data)) === undefined) return;
    toasts.say('done', `The signal ${event.trim()} was sent.`);
    onClose();
  };
  return (
    <Dialog
      title="Send a signal"
      open={open}
      onClose={onClose}
      footer={
        <Button
          kind="primary"
          icon="bolt"
          busy={send.busy}
          blocked={
            event.trim() === '' ? 'Name the event first.' : typeof data === 'string' ? data : undefined
          }
          onClick={() => void onSend()}
        >
          Send
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-ink-soft">
          The run is waiting for {state.waiting?.for ?? 'something'}. A signal that arrives early is kept
          until a step waits for it.
        </p>
        <Field label="Event" error={send.error?.message}>
          {(tie) => (
            <input
              {...tie}
              value={event}
              autoComplete="off"
              onChange={(change) => setEvent(change.target.value)}
            />
          )}
        </Field>
        <TextArea
          label="Data"
          optional
          hint="A JSON object, sent with the event."
          error={typeof data === 'string' ? data : undefined}
          rows={4}
          value={json}
          onText={setJson}
          onSubmit={() => void onSend()}
          className="font-mono text-small"
        />
      </div>
    </Dialog>
  );
}
