import { useId } from 'react';
import { formatClock } from '../../format/format-time.ts';
import { Button } from '../../ui/button.tsx';
import { useRunView } from './run-view.ts';

/** The time slider: the run as it was at any event. */
export function RunMoment() {
  const { model, seq, isLive, seek } = useRunView();
  const id = useId();
  const last = model.events.length;
  if (last < 2) return null;
  const at = model.events[seq - 1]?.at;
  return (
    <div className="flex items-center gap-3 text-small text-ink-faint">
      <label htmlFor={id} className="shrink-0">
        Event <span className="inline-block min-w-12 tabular-nums">{`${seq} of ${last}`}</span>
      </label>
      <input
        id={id}
        type="range"
        min={1}
        max={last}
        value={seq}
        aria-valuetext={`event ${seq} of ${last}${at === undefined ? '' : `, ${formatClock(at)}`}`}
        onChange={(event) => {
          const to = Number(event.target.value);
          seek(to >= last ? undefined : to);
        }}
        className="h-5 min-w-0 flex-1 accent-accent"
      />
      <span className="hidden shrink-0 tabular-nums sm:inline">
        {at === undefined ? '' : formatClock(at, true)}
      </span>
      <Button
        size="small"
        icon="stepForward"
        blocked={isLive ? 'You see the newest event.' : undefined}
        onClick={() => seek(undefined)}
      >
        Now
      </Button>
    </div>
  );
}
