import { type CSSProperties, useMemo } from 'react';
import type { Json } from '../../../../../telltale/src/kernel/json.ts';
import { BAND_PATTERNS, bandLook } from '../../../format/band-look.ts';
import { cx } from '../../../ui/class-names.ts';
import type { SessionModel } from '../model/session-model.ts';
import { useSessionView } from '../session-view.ts';

/** Bands that are drawn, at the most: more would be thinner than a pixel or two. */
const MAX_BANDS = 200;

/** The declared state over the events, behind the slider: where it changes is where one wants to go. */
export function StateTrack() {
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

/** The bands of the first state; of those that are too thin to see, the first counts. */
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
    ...{ seq, value },
    share: ((seen[at + 1]?.from ?? events.length) - from) / last,
  }));
}
