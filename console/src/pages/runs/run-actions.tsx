import { useState } from 'react';
import { useLocation } from 'wouter';
import type { JsonObject } from '../../../../telltale/src/lib/json.ts';
import type { RunState } from '../../../../telltale/src/log/run-state.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { useNow } from '../../data/use-now.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { CancelDialog } from '../log/cancel-dialog.tsx';
import { readObject } from '../workflows/input-fields.ts';
import { runPath } from '../workflows/paths.ts';
import { ChangesDialog } from './changes-dialog.tsx';
import { useRunView } from './run-view.ts';

/** If a running run has no event for this long, perhaps nobody works on it. */
const QUIET_MS = 30_000;

const hasEnded = ({ status }: RunState): boolean => status !== 'running' && status !== 'waiting';

/** What can be done with the run in its current state, whatever moment is shown. */
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

/** Sends a run the event that one of its steps waits for. */
function SignalDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
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
