import { useLocation } from 'wouter';
import type { JsonObject } from '../../../../../telltale/src/kernel/json.ts';
import { useBlocked } from '../../../data/use-blocked.ts';
import { useCall } from '../../../data/use-call.ts';
import { useData } from '../../../data/use-data.ts';
import { formatDateTime } from '../../../format/format-time.ts';
import { Button } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { IconButton } from '../../../ui/icon-button.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { useSessionView } from '../session-view.ts';
import { WhyChainView } from './why-chain.tsx';

/** One event: what it says, why it happened, and what can be done from here. */
export function EventPanel() {
  const { id, model, selected, select, seek } = useSessionView();
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
    <div className="flex flex-col gap-3 p-3">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 flex-1 basis-60 text-body break-words">
          <span className="font-semibold">Event {event.seq}</span>{' '}
          <code className="text-small text-ink-soft">{event.type}</code>
          <span className="block text-small text-ink-faint">
            {formatDateTime(event.at)}, turn {event.turn}
          </span>
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
        <Button size="small" icon="fork" busy={fork.busy} blocked={blocked} onClick={onFork}>
          Fork from here
        </Button>
        <IconButton icon="copy" label="Copy the link to this moment" onClick={() => void onCopy()} />
      </div>
      {fork.error === undefined ? null : (
        <p role="alert" className="text-small text-fail">
          {fork.error.message}
        </p>
      )}
      <p className="text-body break-words">{describeEvent(event)}.</p>
      <WhyChainView key={event.seq} id={id} seq={event.seq} select={select} />
      <div>
        <h3 className="mb-1.5 text-small font-semibold">On the log</h3>
        <JsonView value={event as unknown as JsonObject} label="Event" />
      </div>
    </div>
  );
}
