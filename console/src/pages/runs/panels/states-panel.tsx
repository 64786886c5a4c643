import { formatDuration } from '../../../format/format-duration.ts';
import { ordinal } from '../../../format/format-number.ts';
import { formatClock } from '../../../format/format-time.ts';
import { cx } from '../../../ui/class-names.ts';
import { Duration } from '../../../ui/duration.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { stateVisits } from '../model/state-visits.ts';
import { useRunView } from '../run-view.ts';

/** The way of a machine through its states. */
export function StatesPanel({ chosen }: { readonly chosen: string | undefined }) {
  const { model, seq, isLive, state, select } = useRunView();
  const visits = stateVisits(model.events, seq);
  return (
    <ol aria-label="States" className="divide-y divide-line">
      {visits.map(({ state: name, visit, by, seq: at, from, to }) => (
        <li
          key={at}
          className={cx(
            'flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2 text-small',
            name === chosen && 'bg-accent-soft',
          )}
        >
          <Icon
            name={to === undefined ? 'arrowRight' : 'check'}
            size={14}
            className={to === undefined ? 'text-accent' : 'text-done'}
          />
          <span className="text-body font-medium">{name}</span>
          {visit > 1 ? <span className="text-ink-faint">for the {ordinal(visit)} time</span> : null}
          <span className="min-w-0 flex-1 truncate text-ink-soft">by {by}</span>
          <span className="text-ink-faint tabular-nums">{formatClock(from)}</span>
          <span className="w-16 text-right text-ink-faint tabular-nums">
            {to !== undefined ? (
              formatDuration(to - from)
            ) : isLive && state.status === 'running' ? (
              <Duration from={from} />
            ) : (
              ''
            )}
          </span>
          <button
            type="button"
            onClick={() => select(at)}
            className="font-mono text-micro text-accent hover:underline"
          >
            event {at}
          </button>
        </li>
      ))}
    </ol>
  );
}
