const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** At most two units: `320 ms`, `4.2 s`, `3 min 07 s`, `2 h 05 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const span = Math.max(0, ms);
  if (span < 1) return span === 0 ? '0 ms' : '< 1 ms';
  if (span < SECOND) return `${Math.round(span)} ms`;
  if (span < 59_950) return `${(span / SECOND).toFixed(span < 10 * SECOND ? 1 : 0)} s`;
  const seconds = Math.round(span / SECOND) * SECOND;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ${two((seconds % MINUTE) / SECOND)} s`;
  const minutes = Math.round(span / MINUTE) * MINUTE;
  if (minutes < DAY) return `${Math.floor(minutes / HOUR)} h ${two((minutes % HOUR) / MINUTE)} min`;
  const hours = Math.round(span / HOUR) * HOUR;
  return `${Math.floor(hours / DAY)} d ${(hours % DAY) / HOUR} h`;
}

const two = (count: number) => String(count).padStart(2, '0');
