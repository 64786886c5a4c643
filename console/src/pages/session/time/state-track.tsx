import type { CSSProperties } from 'react';
import { BAND_PATTERNS, bandLook } from '../../../format/band-look.ts';
import { cx } from '../../../ui/class-names.ts';
import { useSessionView } from '../session-view.ts';

/** Bands that are drawn, at the most: more are thinner than a pixel. */
const MAX_BANDS = 300;

/** The declared state over the events, behind the slider: where it changes is where one wants to go. */
export function StateTrack() {
  const { model } = useSessionView();
  const field = model.history.states[0];
  const last = Math.max(1, model.events.length - 1);
  const changes = field === undefined ? [] : (model.history.fields.get(field) ?? []);
  const shown = changes.length > MAX_BANDS ? [] : changes;
  return (
    <div
      aria-hidden="true"
      className="absolute inset-x-2 top-1/2 flex h-2.5 -translate-y-1/2 overflow-hidden rounded bg-sunken"
    >
      {shown.map(({ seq, to }, index) => {
        const { hue, pattern, none } = bandLook(to);
        const next = shown[index + 1]?.seq ?? model.events.length;
        const from = index === 0 ? 1 : seq;
        return (
          <span
            key={seq}
            className={cx('shrink-0', none ? 'band-none' : cx('band', BAND_PATTERNS[pattern]))}
            style={{ '--hue': hue, width: `${((next - from) / last) * 100}%` } as CSSProperties}
          />
        );
      })}
    </div>
  );
}
