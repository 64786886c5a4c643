import { useLocation } from 'wouter';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { EventDetails } from '../../log/event-details.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { useSessionView } from '../session-view.ts';

/** One event: what it says, why it happened, and what can be done from here. */
export function EventPanel() {
  const view = useSessionView();
  const { id, model, selected } = view;
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const [, navigate] = useLocation();
  const fork = useCall((client, options, seq: number) => client.fork(id, seq, options));
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event is chosen.">
        Choose one in the waterfall, the conversation or the list of events.
      </EmptyState>
    );
  const onFork = async () => {
    const summary = await fork.run(event.seq);
    if (summary !== undefined) navigate(`/sessions/${encodeURIComponent(summary.id)}`);
  };
  const onCopy = async () => {
    await navigator.clipboard.writeText(
      `${location.origin}${location.pathname}#/sessions/${encodeURIComponent(id)}?at=${event.seq}`,
    );
    toasts.say('done', 'The link to this moment is in the clipboard.');
  };
  return (
    <EventDetails
      {...{ view, event }}
      count={model.events.length}
      sentence={`${describeEvent(event)}.`}
      when={`turn ${event.turn}`}
      actions={
        <>
          <Button size="small" icon="fork" busy={fork.busy} blocked={blocked} onClick={onFork}>
            Fork from here
          </Button>
          <IconButton icon="copy" label="Copy the link to this moment" onClick={() => void onCopy()} />
        </>
      }
      error={fork.error?.message}
    />
  );
}
