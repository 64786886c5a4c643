import { useNow } from '../data/use-now.ts';
import { formatDuration } from '../format/format-duration.ts';

export interface DurationProps {
  readonly from: number;
  /** If undefined, it is still running and the duration counts up. */
  readonly to?: number | undefined;
  readonly className?: string;
}

export function Duration({ from, to, className }: DurationProps) {
  const now = useNow();
  const ms = (to ?? now) - from;
  // A running duration is shown in whole seconds, because the page reads the clock once a second.
  const told = to === undefined ? Math.max(1_000, Math.floor(ms / 1_000) * 1_000) : ms;
  return <span className={className ?? 'tabular-nums'}>{formatDuration(told)}</span>;
}
