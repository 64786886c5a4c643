import type { ErrorJson } from '../../../telltale/src/kernel/runtime-error.ts';
import { useNow } from '../data/use-now.ts';
import { formatDuration } from '../format/format-duration.ts';
import { Button } from './button.tsx';
import { cx } from './class-names.ts';
import { Icon } from './icon.tsx';

export interface OfflineBannerProps {
  readonly error: ErrorJson;
  /** Undefined: it is not tried again. */
  readonly retryAt: number | undefined;
}

/** Above every page while no events come. What is shown below it is what was last known. */
export function OfflineBanner({ error, retryAt }: OfflineBannerProps) {
  const now = useNow();
  const left = retryAt === undefined ? 0 : Math.ceil((retryAt - now) / 1_000) * 1_000;
  return (
    <div
      role="status"
      className="flex shrink-0 items-center gap-2.5 border-b border-wait/40 bg-wait-soft px-4 py-2 text-body"
    >
      <Icon name="offline" className="text-wait" />
      <p className="min-w-0 flex-1">
        <span className="font-semibold">The connection to the server is lost.</span>{' '}
        <span
          className={cx('text-ink-soft', retryAt !== undefined && 'max-sm:sr-only')}
          title={`${error.message} (${error.code})`}
        >
          {retryAt === undefined ? error.message : 'What you see is what was last known.'}
        </span>
      </p>
      {retryAt === undefined ? (
        <Button size="small" icon="refresh" onClick={() => location.reload()}>
          Load again
        </Button>
      ) : (
        // The count would be read out each second.
        <p aria-hidden="true" className="shrink-0 text-ink-soft tabular-nums">
          {left > 0 ? `Next try in ${formatDuration(left)}` : 'Trying now…'}
        </p>
      )}
    </div>
  );
}
