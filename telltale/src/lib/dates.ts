/**
 * Whether the day that an ISO 8601 time begins with is in the calendar. `Date.parse` takes 30 February for 2 March, so
 * that a slip would count, on another day.
 */
export function beginsWithADay(time: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(time) ?? [];
  if (day === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day)); // Date.UTC would read the year 0099 as 1999
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

const ZONE = /(?:[a-z]|[+-]\d{2}:?\d{2})\s*$/i;
const ISO = /(\d)T(\d)/; // not allowed there, but sent

/**
 * The time of an HTTP date in milliseconds, NaN for other text. All of its forms are UTC (RFC 9110, 5.6.7), also that of
 * `asctime`, which names no zone: `Date.parse` takes that for the time of whichever place this machine is set to.
 */
export function parseHttpDate(text: string): number {
  // Date.parse also takes "12" and "1.5.": a date has a time of day in it.
  if (!/\d{2}:\d{2}/.test(text)) return Number.NaN;
  return Date.parse(ZONE.test(text) ? text : `${text.replace(ISO, '$1 $2')} GMT`);
}
