import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import type { ForkSession } from '../../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { useLoaded } from '../../../data/use-loaded.ts';
import { Button } from '../../../ui/button.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Field } from '../../../ui/field.tsx';
import { ModelField } from '../../../ui/model-field.tsx';
import { TextArea } from '../../../ui/text-area.tsx';
import { declaredVariables, readVariables, type StartVariable } from '../../start/start-variables.ts';
import { VariableFields } from '../../start/variable-fields.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { forkPoints, lastForkable, saidIn } from '../model/fork-points.ts';
import { useSessionView } from '../session-view.ts';

export interface ForkDialogProps {
  readonly open: boolean;
  /** The event to fork from. */
  readonly from: number;
  readonly onClose: () => void;
}

/** Asks where a fork starts and what it changes, then starts it. */
export const ForkDialog = (props: ForkDialogProps) => (props.open ? <OpenForkDialog {...props} /> : null);

function OpenForkDialog({ from, onClose }: ForkDialogProps) {
  const { id, model: session } = useSessionView();
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const [, navigate] = useLocation();
  const { events } = session;
  const last = lastForkable(events);
  const [place, setPlace] = useState(String(Math.min(from, last)));
  const [typed, setTyped] = useState<string>();
  const [model, setModel] = useState('');
  const [variables, setVariables] = useState<readonly StartVariable[]>();
  const { agent } = session.stateAt(events.length);
  // If the manifest is not known here, models and variables are typed in.
  const details = useLoaded(`agent ${agent}`, (client, signal) => client.agent(agent, { signal }));
  const fork = useCall((client, options, asked: ForkSession) => client.fork(id, asked, options));
  const points = useMemo(() => forkPoints(events), [events]);

  const seq = Number(place);
  const isPlace = Number.isSafeInteger(seq) && seq >= 1 && seq <= last;
  const event = isPlace ? events[seq - 1] : undefined;
  const said = saidIn(event);
  const message = typed ?? said ?? '';
  const state = session.stateAt(isPlace ? seq : last);
  const shown =
    variables ??
    declaredVariables(details.kind === 'ready' ? details.value.manifest : null).map((variable) => {
      const now = state.variables.get(variable.name);
      return now === undefined ? variable : { ...variable, fallback: JSON.stringify(now.value) };
    });
  const missing = !isPlace
    ? `Enter an event from 1 to ${last}.`
    : said !== undefined && message.trim() === ''
      ? 'Write a message.'
      : undefined;
  const onFork = async () => {
    if (missing !== undefined || blocked !== undefined) return;
    const vars = readVariables(shown);
    const summary = await fork.run({
      seq,
      ...(message.trim() === '' || message === said ? {} : { message }),
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      ...(Object.keys(vars).length === 0 ? {} : { vars }),
    });
    if (summary === undefined) return;
    onClose();
    toasts.say('done', `A fork from event ${seq} has started.`);
    navigate(`/sessions/${encodeURIComponent(summary.id)}`);
  };
  return (
    <Dialog
      title="Fork this session"
      open
      wide
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            icon="fork"
            busy={fork.busy}
            blocked={blocked ?? missing}
            onClick={() => void onFork()}
          >
            Start the fork
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-ink-soft">
          A fork is a new session. It shares this session’s log up to the event you choose and continues from
          there with your changes. This session stays as it is.
        </p>
        <div className="grid gap-3 sm:grid-cols-[minmax(0,1fr)_8rem]">
          <Field label="Fork from">
            {(tie) => (
              <select
                {...tie}
                value={points.some((point) => point.seq === seq) ? seq : ''}
                onChange={(change) => {
                  setPlace(change.target.value);
                  setTyped(undefined);
                }}
              >
                {points.some((point) => point.seq === seq) ? null : <option value="">Another event</option>}
                {points.map((point) => (
                  <option key={point.seq} value={point.seq}>
                    {point.label} (event {point.seq})
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Event" error={isPlace ? undefined : `1 to ${last}`}>
            {(tie) => (
              <input
                {...tie}
                type="number"
                min={1}
                max={last}
                value={place}
                onChange={(change) => {
                  setPlace(change.target.value);
                  setTyped(undefined);
                }}
              />
            )}
          </Field>
          <p className="-mt-2 line-clamp-2 text-small break-words text-ink-faint sm:col-span-2">
            {event === undefined ? '' : `The fork’s last event from here: ${describeEvent(event)}.`}
          </p>
        </div>
        <TextArea
          label={said === undefined ? 'Another message' : 'Message'}
          hint={
            said === undefined
              ? 'The agent reads it in its next turn.'
              : 'Your text replaces this message in the fork.'
          }
          {...(said === undefined ? { optional: true } : {})}
          rows={3}
          value={message}
          onText={setTyped}
          onSubmit={() => void onFork()}
        />
        <ModelField
          value={model}
          own={state.model}
          choices={details.kind === 'ready' ? details.value.models : []}
          onChange={setModel}
        />
        <VariableFields variables={shown} onChange={setVariables} />
        {fork.error === undefined ? null : (
          <ErrorState title="The fork was not started." error={fork.error} onRetry={() => void onFork()} />
        )}
      </div>
    </Dialog>
  );
}
