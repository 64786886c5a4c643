import { useNow } from '../data/use-now.ts';
import { formatDuration } from '../format/format-duration.ts';

export interface DurationProps {
  readonly from: number;
  /** Still going on if absent: then it counts. */
  readonly to?: number | undefined;
  readonly className?: string;
}

export function Duration({ from, to, className }: DurationProps) {
  const now = useNow();
  const ms = (to ?? now) - from;
  // What still goes on is told in whole seconds: the page looks at the clock once a second.
  const told = to === undefined ? Math.max(1_000, Math.floor(ms / 1_000) * 1_000) : ms;
  return <span className={className ?? 'tabular-nums'}>{formatDuration(told)}</span>;
}
