import { useEffect, useState } from 'react';

/** How often bars that still grow are drawn: smooth to the eye, and a few percent of a core. */
const TICK_MS = 120;

/** The time, often enough to see something grow; it stands still while nothing does. */
export function useClock(isRunning: boolean): number {
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
