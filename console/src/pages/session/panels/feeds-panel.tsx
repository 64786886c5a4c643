import { useState } from 'react';
import type { FeedState } from '../../../../../telltale/src/log/feed-event.ts';
import { formatDuration } from '../../../format/format-duration.ts';
import { formatCount } from '../../../format/format-number.ts';
import { EmptyState } from '../../../ui/empty-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { JsonView } from '../../../ui/json-view.tsx';
import { useSessionView } from '../session-view.ts';

/** The feeds in the model's context: the age and size of each, and its errors. */
export function FeedsPanel() {
  const { model, moment } = useSessionView();
  const { feeds } = model.stateAt(moment.seq);
  if (feeds.size === 0) return <EmptyState icon="refresh" title="No feed has been loaded." />;
  return (
    <ul className="flex flex-col">
      {[...feeds.values()].map((feed) => (
        <Feed key={feed.id} feed={feed} now={moment.at} />
      ))}
    </ul>
  );
}

function Feed({ feed, now }: { readonly feed: FeedState; readonly now: number }) {
  const [isOpen, setOpen] = useState(false);
  const { id, last, failing, removed, by } = feed;
  const facts: string[] = [];
  if (removed === true) facts.push('removed');
  if (last !== undefined) {
    facts.push(
      `${formatDuration(Math.max(0, now - last.loadedAt))} old`,
      `${formatCount(last.tokens)} tokens`,
    );
    if (last.truncated !== undefined) facts.push(`${formatCount(last.truncated)} tokens cut off`);
  }
  if (by !== undefined) facts.push(`added by ${by}`);
  return (
    <li className="border-b border-line last:border-b-0">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full min-w-0 items-center gap-2 px-3 py-2 text-left text-small -outline-offset-2 hover:bg-hover"
      >
        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
        <span className="min-w-0 truncate font-mono font-medium">{id}</span>
        {failing === undefined ? null : (
          <span className="inline-flex shrink-0 items-center gap-1 text-fail">
            <Icon name="alert" size={12} />
            {last === undefined ? 'failed' : 'stale'}
            {failing.times > 1 ? ` (${failing.times} times)` : ''}
          </span>
        )}
        <span className="ml-auto truncate text-micro text-ink-faint tabular-nums">{facts.join(' · ')}</span>
      </button>
      {isOpen ? (
        <div className="flex flex-col gap-2 px-3 pb-3">
          {failing === undefined ? null : (
            <p className="text-small break-words text-fail">{failing.error.message}</p>
          )}
          {last === undefined ? null : (
            <JsonView value={last.value} label={`Value of ${id}`} className="max-h-72 overflow-y-auto" />
          )}
        </div>
      ) : null}
    </li>
  );
}
