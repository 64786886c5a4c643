import { useState } from 'react';
import { useKept } from '../../data/use-kept.ts';
import { Button } from '../../ui/button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { useSessionView } from './session-view.ts';
import { TOUR, TOUR_KEY } from './tour.ts';

/** In the session of the tour: what to look at, one thing at a time. */
export function TourGuide() {
  const { id } = useSessionView();
  const [session, setSession] = useKept<string | undefined>(TOUR_KEY, undefined);
  const [at, setAt] = useState(0);
  const stop = TOUR[at];
  if (session !== id || stop === undefined) return null;
  const isLast = at === TOUR.length - 1;
  return (
    <section
      aria-label="Tour"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-accent/40 bg-accent-soft px-3 py-2"
    >
      <p aria-live="polite" className="min-w-0 flex-1 basis-64">
        <span className="mr-2 text-small text-ink-soft tabular-nums">
          {at + 1} of {TOUR.length}
        </span>
        <strong className="font-semibold">{stop.title}.</strong> {stop.text}
      </p>
      <div className="flex items-center gap-2">
        {at === 0 ? null : (
          <Button size="small" onClick={() => setAt(at - 1)}>
            Back
          </Button>
        )}
        <Button size="small" kind="primary" onClick={() => (isLast ? setSession(undefined) : setAt(at + 1))}>
          {isLast ? 'Finish' : 'Next'}
        </Button>
        {isLast ? null : (
          <IconButton icon="close" label="Close the tour" onClick={() => setSession(undefined)} />
        )}
      </div>
    </section>
  );
}
