import type { Usage } from '../../log/session-events.ts';

export { spanText } from '../../lib/quantity.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A rough age: `just now`, `3 min ago`, `5 h ago`, `2 days ago`. */
export function agoText(ms: number): string {
  if (ms < 10 * SECOND) return 'just now';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s ago`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h ago`;
  return `${Math.floor(ms / DAY)} days ago`;
}

export const countText = (amount: number, what: string, many = `${what}s`): string =>
  `${amount.toLocaleString('en')} ${amount === 1 ? what : many}`;

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const;

/** `812 bytes`, `4.2 KB`, `31 MB`. A KB is 1,000 bytes. */
export function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0];
  for (; size >= 999.5 && unit < UNITS.length - 1; unit++) size /= 1000;
  return `${unit === 0 || size >= 9.95 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`;
}

/** Dollars, with as many digits as matter. */
export const costText = (dollars: number): string => `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;

const MAX_DATE = 8.64e15;

/** A time as ISO 8601. A number that is not a time stays a number. */
export const timeText = (ms: number): string =>
  Math.abs(ms) <= MAX_DATE ? new Date(ms).toISOString() : String(ms);

/** `12 + 3 tokens`: input and output. */
export const tokensText = ({ input, output, estimated }: Usage): string =>
  `${estimated === true ? 'about ' : ''}${input.toLocaleString('en')} + ${countText(output, 'token')}`;
