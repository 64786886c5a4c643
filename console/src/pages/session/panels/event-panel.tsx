import { useState } from 'react';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useData } from '../../../data/use-data.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { EventDetails } from '../../log/event-details.tsx';
import { ForkDialog } from '../header/fork-dialog.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { useSessionView } from '../session-view.ts';

/** One event: what it says, why it happened, and what can be done from here. */
export function EventPanel() {
  const view = useSessionView();
  const { id, model, selected } = view;
  const { toasts } = useData();
  const blocked = useBlocked('run');
  const [isForking, setForking] = useState(false);
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event selected.">
        Select one in the waterfall, the conversation or the list of events.
      </EmptyState>
    );
  const onCopy = async () => {
    await navigator.clipboard.writeText(
      `${location.origin}${location.pathname}#/sessions/${encodeURIComponent(id)}?at=${event.seq}`,
    );
    toasts.say('done', 'The link to this moment was copied.');
  };
  return (
    <EventDetails
      {...{ view, event }}
      count={model.events.length}
      sentence={`${describeEvent(event)}.`}
      when={`turn ${event.turn}`}
      actions={
        <>
          <Button size="small" icon="fork" blocked={blocked} onClick={() => setForking(true)}>
            Fork from here
          </Button>
          <ForkDialog open={isForking} from={event.seq} onClose={() => setForking(false)} />
          <IconButton icon="copy" label="Copy the link to this moment" onClick={() => void onCopy()} />
        </>
      }
    />
  );
}
