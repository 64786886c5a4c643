import type { ReactNode } from 'react';
import type { JsonObject } from '../../../../telltale/src/lib/json.ts';
import type { SessionEvent } from '../../../../telltale/src/log/event.ts';
import type { RunEvent } from '../../../../telltale/src/log/run-event.ts';
import { formatDateTime } from '../../format/format-time.ts';
import { Button } from '../../ui/button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { WhyChainView } from '../session/panels/why-chain.tsx';
import type { LogView } from './log-view.ts';

export interface EventDetailsProps {
  readonly view: Pick<LogView, 'id' | 'select' | 'seek'>;
  readonly event: SessionEvent | RunEvent;
  /** How many events the log has. */
  readonly count: number;
  /** The event as a sentence. */
  readonly sentence: string;
  /** More about its time than the date. */
  readonly when?: string;
  /** More buttons. */
  readonly actions?: ReactNode;
}

/** One event of a log: what it says, why it happened, and its neighbors. */
export const EventDetails = ({ view, event, count, sentence, when, actions }: EventDetailsProps) => (
  <div className="flex flex-col gap-3 p-3">
    <div className="flex flex-wrap items-center gap-2">
      <h2 className="min-w-0 flex-1 basis-56 text-body break-words">
        <span className="font-semibold">Event {event.seq}</span>{' '}
        <code className="text-small text-ink-soft">{event.type}</code>
        <span className="block text-small text-ink-faint">
          {formatDateTime(event.at)}
          {when === undefined ? '' : `, ${when}`}
        </span>
      </h2>
      <IconButton
        icon="arrowLeft"
        label="Previous event"
        onClick={() => view.select(Math.max(1, event.seq - 1))}
      />
      <IconButton
        icon="arrowRight"
        label="Next event"
        onClick={() => view.select(Math.min(count, event.seq + 1))}
      />
      <Button size="small" icon="history" onClick={() => view.seek(event.seq)}>
        Show this moment
      </Button>
      {actions}
    </div>
    <p className="text-body break-words">{sentence}</p>
    <WhyChainView key={event.seq} id={view.id} seq={event.seq} select={view.select} />
    <div>
      <h3 className="mb-1.5 text-small font-semibold">On the log</h3>
      <JsonView value={event as unknown as JsonObject} label="Event" />
    </div>
  </div>
);
