import { useNow } from '../../data/use-now.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { Icon } from '../../ui/icon.tsx';
import { QuarantineNotice } from '../log/quarantine.tsx';
import { StoppedNotice } from '../log/stopped-notice.tsx';
import { useSessionView } from './session-view.ts';
import { SILENT_AFTER_MS } from './use-moment.ts';

/** That what is shown may no longer be all there is. */
export function LogNotice() {
  const { id, model } = useSessionView();
  return (
    <>
      <QuarantineNotice kind="session" id={id} seq={model.events.length} onReleased={model.open} />
      <FollowingNotice />
    </>
  );
}

function FollowingNotice() {
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
  return <StoppedNotice kind="session" message={status.error.message} onRetry={model.open} />;
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
      No news from this session for {formatDuration(now - state.at)}. If its process is gone, resume it.
    </p>
  );
}
