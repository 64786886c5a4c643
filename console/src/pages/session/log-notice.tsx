import { useNow } from '../../data/use-now.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useSessionView } from './session-view.ts';
import { SILENT_AFTER_MS } from './use-moment.ts';

/** That what is shown may no longer be all there is. */
export function LogNotice() {
  const { model } = useSessionView();
  const status = model.status();
  if (status.kind === 'loading')
    return (
      <p role="status" className="flex shrink-0 items-center gap-2 text-small text-ink-soft">
        <Icon name="spinner" size={13} className="animate-turn text-accent" />
        Reading the log: {model.events.length.toLocaleString('en')} events so far…
      </p>
    );
  if (status.kind !== 'lost' && status.kind !== 'failed') return <Silence />;
  return (
    <div
      role="status"
      className="flex shrink-0 flex-wrap items-center gap-2 rounded-lg border border-wait bg-wait-soft px-3 py-2 text-small"
    >
      <Icon name="offline" size={14} className="text-wait" />
      <p className="min-w-0 flex-1">
        <strong className="font-semibold">The events have stopped coming.</strong> What you see is the session
        as it was; nothing is lost. {status.error.message}
      </p>
      <Button size="small" icon="refresh" onClick={model.open}>
        Try again now
      </Button>
    </div>
  );
}

/** A session that seems to go on, but of which nothing was heard: its process may be gone. */
function Silence() {
  const { model } = useSessionView();
  const now = useNow();
  const state = model.stateAt(model.events.length);
  if (state.status !== 'running' || now - state.at < SILENT_AFTER_MS) return null;
  return (
    <p role="status" className="flex shrink-0 items-center gap-2 text-small text-ink-soft">
      <Icon name="clock" size={14} className="text-wait" />
      Nothing was heard of this session for {formatDuration(now - state.at)}. If the process that worked on it
      is gone, resume it.
    </p>
  );
}
