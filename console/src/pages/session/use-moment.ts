import { useCallback, useEffect, useState } from 'react';
import { hashQuery, replaceHashQuery, useFollowedQuery } from '../../shell/hash-location.ts';
import type { Moment } from './model/action-phases.ts';
import type { SessionModel } from './model/session-model.ts';

/** After this silence nobody knows whether the session is still running, and bars stop growing. */
export const SILENT_AFTER_MS = 10 * 60_000;

/** Browsers limit how often the address may change, so it is updated when the slider rests. */
const ADDRESS_AFTER_MS = 300;

const asked = (query: string): number | undefined => {
  const at = Number(new URLSearchParams(query).get('at') ?? Number.NaN);
  return Number.isSafeInteger(at) && at > 0 ? at : undefined;
};

export interface MomentState {
  readonly moment: Moment;
  readonly isLive: boolean;
  readonly seek: (seq: number | undefined) => void;
}

/** The event that the page shows. The address contains it (`?at=42`), so a link can set it. */
export function useMoment(model: SessionModel): MomentState {
  const [at, setAt] = useState(() => asked(hashQuery()));
  useFollowedQuery(useCallback((query) => setAt(asked(query)), []));
  useEffect(() => {
    const timer = setTimeout(() => replaceHashQuery(at === undefined ? '' : `at=${at}`), ADDRESS_AFTER_MS);
    return () => clearTimeout(timer);
  }, [at]);
  const last = model.events.length;
  const seek = useCallback((seq: number | undefined) => {
    setAt(seq === undefined ? undefined : Math.max(1, seq));
  }, []);
  const isLive = at === undefined || (at > last && last > 0);
  const { status, turnOpen, open } = model.stateAt(last);
  const isMoving = isLive && status === 'running' && (turnOpen || open.size > 0);
  const now = useClock(isMoving && model.waterfall.idleNow() === undefined);
  const { end } = model.waterfall;
  const isHeard = now - end < SILENT_AFTER_MS;
  const moment = isLive
    ? { seq: last, at: isMoving && isHeard ? Math.max(end, now) : end }
    : { seq: at, at: model.events[at - 1]?.at ?? end };
  return { moment, isLive, seek };
}

/** How often growing bars are drawn: smooth for the eye, and a few percent of a core. */
const TICK_MS = 120;

/** The time, updated often enough to see bars grow. It stands still while nothing runs. */
function useClock(isRunning: boolean): number {
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (!isRunning) return;
    setNow(Date.now());
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
