const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

/** `now`, `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`, or the date after a week. In the future: `in 5 min`. */
export function formatRelative(at: number, now: number): string {
  const span = Math.abs(now - at);
  const told = (text: string) => (at > now ? `in ${text}` : `${text} ago`);
  if (span < 5_000) return 'now';
  if (span < MINUTE) return told(`${Math.floor(span / 1_000)} s`);
  if (span < HOUR) return told(`${Math.floor(span / MINUTE)} min`);
  if (span < DAY) return told(`${Math.floor(span / HOUR)} h`);
  if (span < WEEK) return told(`${Math.floor(span / DAY)} d`);
  return formatDate(at);
}

/** `2026-11-15` in the user's time zone. */
const formatDate = (at: number): string => {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

/** `14:03:07`, or `14:03:07.123` with milliseconds. */
export const formatClock = (at: number, millis = false): string => {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return millis ? `${time}.${String(date.getMilliseconds()).padStart(3, '0')}` : time;
};

export const formatDateTime = (at: number): string => `${formatDate(at)} ${formatClock(at)}`;

const two = (count: number) => String(count).padStart(2, '0');
