import { formatDuration } from '../../../format/format-duration.ts';
import { plural } from '../../../format/format-number.ts';
import { Icon } from '../../../ui/icon.tsx';
import { useSessionView } from '../session-view.ts';

/** What it was worth that actions did not wait for the end of the model's response. */
export function SavingLine() {
  const { model, moment } = useSessionView();
  const { early, started, savedMs, overlapMs } = model.saving.at(moment);
  if (early === 0) return null;
  const told = `${early} of ${plural(started, 'action')} began while the model was still speaking. Actions ran for ${formatDuration(overlapMs)} of its speech; had they waited for its end, this would have taken ${formatDuration(savedMs)} longer.`;
  return (
    <p
      title={told}
      className="mr-1 hidden min-w-0 flex-[5_1_0] items-center justify-end gap-1.5 text-small text-ink-soft sm:flex"
    >
      <Icon name="bolt" size={13} className="text-accent" />
      <span className="truncate">
        {savedMs < 1 ? null : (
          <strong className="mr-1 font-semibold text-ink">{formatDuration(savedMs)} saved ·</strong>
        )}
        <span className={savedMs < 1 ? '' : 'hidden xl:inline'}>
          {early.toLocaleString('en')} of {started.toLocaleString('en')} actions began before the model had
          finished
        </span>
      </span>
      <span className="sr-only">{told}</span>
    </p>
  );
}
