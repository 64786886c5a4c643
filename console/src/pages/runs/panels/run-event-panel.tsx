import type { JsonObject } from '../../../../../telltale/src/kernel/json.ts';
import { formatDateTime } from '../../../format/format-time.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { runEventClause } from '../../session/model/run-event-clause.ts';
import { WhyChainView } from '../../session/panels/why-chain.tsx';
import { useRunView } from '../run-view.ts';

/** One event: what it says, and why it happened. */
export function RunEventPanel() {
  const { id, model, selected, select, seek } = useRunView();
  const event = selected === undefined ? undefined : model.events[selected - 1];
  if (event === undefined)
    return (
      <EmptyState icon="dot" title="No event is chosen.">
        Choose one among the events, the decisions or the states.
      </EmptyState>
    );
  const clause = runEventClause(event);
  return (
    <div className="flex flex-col gap-3 p-3">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 flex-1 basis-52 break-words">
          <span className="font-semibold">Event {event.seq}</span>{' '}
          <code className="text-small text-ink-soft">{event.type}</code>
          <span className="block text-small text-ink-faint">{formatDateTime(event.at)}</span>
        </h2>
        <IconButton
          icon="arrowLeft"
          label="The event before"
          onClick={() => select(Math.max(1, event.seq - 1))}
        />
        <IconButton
          icon="arrowRight"
          label="The next event"
          onClick={() => select(Math.min(model.events.length, event.seq + 1))}
        />
        <Button size="small" icon="history" onClick={() => seek(event.seq)}>
          Show this moment
        </Button>
      </div>
      <p className="break-words">{`${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`}</p>
      <WhyChainView key={event.seq} id={id} seq={event.seq} select={select} />
      <div>
        <h3 className="mb-1.5 text-small font-semibold">On the log</h3>
        <JsonView value={event as unknown as JsonObject} label="Event" />
      </div>
    </div>
  );
}
