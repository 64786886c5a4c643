import { type CSSProperties, useEffect, useMemo, useRef, useState } from 'react';
import type { Json } from '../../../../../telltale/src/lib/json.ts';
import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { BAND_PATTERNS, bandLook } from '../../../format/band-look.ts';
import { formatClock } from '../../../format/format-time.ts';
import { useKeys } from '../../../shell/use-keys.ts';
import { Button } from '../../../ui/button.tsx';
import { cx } from '../../../ui/class-names.ts';
import { IconButton } from '../../../ui/icon-button.tsx';
import { describeEvent } from '../model/event-clause.ts';
import type { SessionModel } from '../model/session-model.ts';
import { useSessionView } from '../session-view.ts';

/** The slider over all events. While it is not at the end, the whole page shows that moment, and the bar says so. */
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
        <IconButton icon="stepBack" label="Previous event (,)" onClick={() => go(seq - 1)} />
        <IconButton
          icon={playback.isPlaying ? 'pause' : 'play'}
          label={playback.isPlaying ? 'Pause (p)' : 'Play the session (p)'}
          onClick={playback.toggle}
        />
        <IconButton icon="stepForward" label="Next event (.)" onClick={() => go(seq + 1)} />
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

/** The maximum number of bands. More would be too thin to see. */
const MAX_BANDS = 200;

/** The declared state over the events, behind the slider, because changes of state are where people want to go. */
function StateTrack() {
  const { model, version } = useSessionView();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that there are more events.
  const bands = useMemo(() => bandsOf(model), [model, version]);
  return (
    <div
      aria-hidden="true"
      className="absolute inset-x-2 top-1/2 flex h-2.5 -translate-y-1/2 overflow-hidden rounded bg-sunken"
    >
      {bands.map(({ seq, value, share }) => {
        const { hue, pattern, none } = bandLook(value);
        return (
          <span
            key={seq}
            className={cx('shrink-0', none ? 'band-none' : cx('band', BAND_PATTERNS[pattern]))}
            style={{ '--hue': hue, width: `${share * 100}%` } as CSSProperties}
          />
        );
      })}
    </div>
  );
}

/** The bands of the first field. If bands are too thin to see, the first one of them is drawn. */
function bandsOf({ history, events }: SessionModel) {
  const [field] = history.states;
  const changes = field === undefined ? [] : (history.fields.get(field) ?? []);
  const last = Math.max(1, events.length - 1);
  const seen: { readonly seq: number; readonly value: Json; readonly from: number }[] = [];
  for (const { seq, to } of changes) {
    const from = seen.length === 0 ? 1 : seq;
    if (from - (seen.at(-1)?.from ?? Number.NEGATIVE_INFINITY) >= last / MAX_BANDS)
      seen.push({ seq, value: to, from });
  }
  return seen.map(({ seq, value, from }, at) => ({
    seq,
    value,
    share: ((seen[at + 1]?.from ?? events.length) - from) / last,
  }));
}

/** Playing a long session takes about this long. A short one plays at its own speed. */
const PLAYED_IN_MS = 20_000;
/** Longer waits are shortened to this. */
const LONGEST_WAIT_MS = 600;

interface Playback {
  readonly isPlaying: boolean;
  readonly toggle: () => void;
  readonly stop: () => void;
}

interface PlaybackOptions {
  readonly events: readonly SessionEvent[];
  readonly seq: number;
  readonly isLive: boolean;
  readonly seek: (seq: number | undefined) => void;
}

/** Plays the log without its long waits, from the start if the end is shown. */
function usePlayback({ events, seq, isLive, seek }: PlaybackOptions): Playback {
  const [isPlaying, setPlaying] = useState(false);
  const latest = useRef({ seq, seek });
  latest.current = { seq, seek };
  useEffect(() => {
    if (!isPlaying) return;
    let shown = latest.current.seq;
    const rate = Math.max(1, playedMs(events, shown) / PLAYED_IN_MS);
    let before = performance.now();
    let owed = 0;
    let frame = requestAnimationFrame(function step(now) {
      owed += (now - before) * rate;
      before = now;
      const from = shown;
      while (shown < events.length && owed >= waitBehind(events, shown)) {
        owed -= waitBehind(events, shown);
        shown++;
      }
      if (shown >= events.length) {
        setPlaying(false);
        latest.current.seek(undefined);
        return;
      }
      if (shown !== from) latest.current.seek(shown);
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, events]);
  return {
    isPlaying,
    toggle() {
      if (!isPlaying && (isLive || seq >= events.length)) {
        latest.current = { seq: 1, seek };
        seek(1);
      }
      setPlaying(!isPlaying);
    },
    stop: () => setPlaying(false),
  };
}

/** The time between an event and the next one, in real time. */
const waitBehind = (events: readonly SessionEvent[], seq: number): number =>
  Math.min(LONGEST_WAIT_MS, Math.max(0, (events[seq]?.at ?? 0) - (events[seq - 1]?.at ?? 0)));

function playedMs(events: readonly SessionEvent[], from: number): number {
  let sum = 0;
  for (let seq = Math.max(1, from); seq < events.length; seq++) sum += waitBehind(events, seq);
  return sum;
}
