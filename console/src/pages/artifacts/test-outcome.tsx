import type { ArtifactTestResult } from '../../../../telltale/src/client/api.ts';
import { formatDuration } from '../../format/format-duration.ts';
import { cx } from '../../ui/class-names.ts';
import { Icon } from '../../ui/icon.tsx';
import { JsonView } from '../../ui/json-view.tsx';

/** What an artifact said, what that stands for, and what it was shown. */
export function TestOutcome({ outcome }: { readonly outcome: ArtifactTestResult }) {
  const { ok, value, meant, reason, message, ms, context } = outcome;
  const same = JSON.stringify(value) === JSON.stringify(meant);
  return (
    <div className="flex flex-col gap-3">
      <div className={cx('flex gap-2.5 rounded-md px-3 py-2', ok ? 'bg-done-soft' : 'bg-wait-soft')}>
        <Icon name={ok ? 'check' : 'alert'} className={cx('mt-0.5', ok ? 'text-done' : 'text-wait')} />
        <div className="min-w-0">
          <p className="font-semibold break-words">
            {ok ? 'It decided' : `It did not decide (${reason ?? 'failed'})`}, in {formatDuration(ms)}
          </p>
          {ok ? null : (
            <p className="break-words">
              {message} In a run, the fallback of the place that asks would count.
            </p>
          )}
        </div>
      </div>
      {value === undefined ? null : (
        <section>
          <h3 className="mb-1 text-small font-semibold text-ink-faint">It said</h3>
          <JsonView value={value} label="What it said" />
        </section>
      )}
      {!ok || same ? null : meant === undefined ? (
        <p className="text-small text-wait">This is not a decision, so a workflow would use its fallback.</p>
      ) : (
        <section>
          <h3 className="mb-1 text-small font-semibold text-ink-faint">That stands for</h3>
          <JsonView value={meant} label="What that stands for" />
        </section>
      )}
      <details className="text-small">
        <summary className="font-semibold text-ink-faint">The context that it was shown</summary>
        <JsonView value={context} label="Context" className="mt-1" />
      </details>
    </div>
  );
}
