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
