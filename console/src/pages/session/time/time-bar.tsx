import { formatClock } from '../../../format/format-time.ts';
import { useKeys } from '../../../shell/use-keys.ts';
import { Button } from '../../../ui/button.tsx';
import { cx } from '../../../ui/class-names.ts';
import { IconButton } from '../../../ui/icon-button.tsx';
import { describeEvent } from '../model/event-clause.ts';
import { useSessionView } from '../session-view.ts';
import { StateTrack } from './state-track.tsx';
import { usePlayback } from './use-playback.ts';

/** The slider over all events. While it is not at its end, the whole page shows that moment, and this says so. */
export function TimeBar() {
  const { model, moment, isLive, seek } = useSessionView();
  const { events } = model;
  const last = events.length;
  const { seq } = moment;
  const playback = usePlayback({ events, seq, isLive, seek });
  const go = (to: number | undefined) => {
    playback.stop();
    seek(to === undefined || to >= last ? undefined : to);
  };
  useKeys((key) => {
    if (key === ',') go(seq - 1);
    else if (key === '.') go(seq + 1);
    else if (key === 'p') playback.toggle();
    else if (key === 'Escape' && !isLive) go(undefined);
    else return false;
    return true;
  });
  const event = events[seq - 1];
  const at = event === undefined ? '' : formatClock(event.at, true);
  return (
    <section
      aria-label="Time"
      className={cx(
        'flex shrink-0 flex-wrap items-center gap-x-2 gap-y-1 rounded-lg border px-2 py-1.5',
        isLive ? 'border-line bg-surface' : 'border-accent bg-accent-soft',
      )}
    >
      <div className="flex items-center">
        <IconButton icon="stepBack" label="One event back (,)" onClick={() => go(seq - 1)} />
        <IconButton
          icon={playback.isPlaying ? 'pause' : 'play'}
          label={playback.isPlaying ? 'Pause (p)' : 'Play the session (p)'}
          onClick={playback.toggle}
        />
        <IconButton icon="stepForward" label="One event on (.)" onClick={() => go(seq + 1)} />
      </div>
      <div className="relative flex h-8 min-w-40 flex-1 items-center">
        <StateTrack />
        <input
          type="range"
          min={1}
          max={Math.max(1, last)}
          value={Math.min(seq, Math.max(1, last))}
          onChange={(change) => go(Number(change.target.value))}
          aria-label="Event"
          aria-valuetext={
            event === undefined ? 'no event' : `Event ${seq} of ${last}: ${describeEvent(event)}`
          }
          className="wf-slider relative w-full"
        />
      </div>
      <p className="shrink-0 text-small text-ink-soft tabular-nums">
        <span className={isLive ? '' : 'font-semibold text-ink'}>{seq.toLocaleString('en')}</span> /{' '}
        {last.toLocaleString('en')}
      </p>
      {isLive ? null : (
        <div className="flex w-full min-w-0 items-center gap-2 text-small md:w-auto md:max-w-[22rem]">
          <p
            role="status"
            className="min-w-0 flex-1 truncate text-ink"
            title={event === undefined ? '' : describeEvent(event)}
          >
            <span className="font-semibold">As it was at {at}</span>
            {event === undefined ? null : <span className="text-ink-soft"> · {event.type}</span>}
          </p>
          <Button size="small" kind="primary" onClick={() => go(undefined)}>
            Back to now
          </Button>
        </div>
      )}
    </section>
  );
}
