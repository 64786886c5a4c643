import { formatDuration } from '../../../format/format-duration.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The label of an axis mark, `at` ms after the start. If the usual format would give marks that are `step` ms apart the
 * same label, it uses `11.035 s`, `3:07.5` or `26:05:30`.
 */
export function axisMark(at: number, step: number): string {
  if (step % finenessOf(at) === 0) return formatDuration(at).replace('.0 s', ' s');
  const digits = step % SECOND === 0 ? 0 : step % 100 === 0 ? 1 : step % 10 === 0 ? 2 : 3;
  if (at < MINUTE) return `${(at / SECOND).toFixed(digits)} s`;
  const seconds = ((at % MINUTE) / SECOND).toFixed(digits).padStart(digits === 0 ? 2 : digits + 3, '0');
  const minutes = Math.floor((at % HOUR) / MINUTE);
  if (at < HOUR) return `${minutes}:${seconds}`;
  return `${Math.floor(at / HOUR)}:${String(minutes).padStart(2, '0')}:${seconds}`;
}

/** The smallest difference between two durations of that length that their labels show. */
function finenessOf(at: number): number {
  if (at < SECOND) return 1;
  if (at < 10 * SECOND) return 100;
  if (at < HOUR) return SECOND;
  return at < DAY ? MINUTE : HOUR;
}
