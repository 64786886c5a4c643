import { useEffect, useRef, useState } from 'react';
import type { SessionEvent } from '../../../../../telltale/src/events/event.ts';

/** However long a session took, it is played in about so long; a short one as fast as it was. */
const PLAYED_IN_MS = 20_000;
/** A wait is played no longer than this. */
const LONGEST_WAIT_MS = 600;

export interface Playback {
  readonly isPlaying: boolean;
  readonly toggle: () => void;
  readonly stop: () => void;
}

export interface PlaybackOptions {
  readonly events: readonly SessionEvent[];
  readonly seq: number;
  readonly isLive: boolean;
  readonly seek: (seq: number | undefined) => void;
}

/** Goes through the log as it was written, without its long waits; from the start where the end is shown. */
export function usePlayback({ events, seq, isLive, seek }: PlaybackOptions): Playback {
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

/** The time between an event and the next one, as it is played. */
const waitBehind = (events: readonly SessionEvent[], seq: number): number =>
  Math.min(LONGEST_WAIT_MS, Math.max(0, (events[seq]?.at ?? 0) - (events[seq - 1]?.at ?? 0)));

function playedMs(events: readonly SessionEvent[], from: number): number {
  let sum = 0;
  for (let seq = Math.max(1, from); seq < events.length; seq++) sum += waitBehind(events, seq);
  return sum;
}
