import { useNow } from '../data/use-now.ts';
import { formatDateTime, formatRelative } from '../format/format-time.ts';

/** `5 min ago`, kept up to date, with the exact time as its tooltip. */
export function RelativeTime({ at, className }: { readonly at: number; readonly className?: string }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)} className={className}>
      {formatRelative(at, now)}
    </time>
  );
}
