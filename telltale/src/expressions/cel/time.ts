import { beginsWithADay } from '../../lib/dates.ts';
import { parseDuration } from '../../lib/quantity.ts';
import { quote } from '../issue.ts';
import { LimitsStop } from './limits.ts';
import { Duration, label, Timestamp, type Value } from './value.ts';

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** `timestamp("2026-01-31T12:00:00Z")`, or seconds since the Unix epoch. There is no `now()`: time arrives as data. */
export function toTimestamp(of: Value): Timestamp {
  if (of instanceof Timestamp) return of;
  const ms =
    typeof of === 'string' && RFC_3339.test(of) && beginsWithADay(of)
      ? Date.parse(of)
      : typeof of === 'bigint' || typeof of === 'number'
        ? Number(of) * 1000
        : Number.NaN;
  if (Number.isFinite(ms) && Math.abs(ms) <= MAX_TIME_MS) return new Timestamp(ms);
  throw new LimitsStop(
    'bad_value',
    `timestamp() cannot read ${typeof of === 'string' ? quote(of) : label(of)}.`,
    'Write it as in RFC 3339: "2026-01-31T12:00:00Z".',
  );
}

/** What a Date can hold. */
const MAX_TIME_MS = 8.64e15;

/** `duration("1h30m")`: written as everywhere in manifests, with a minus sign in front where it is negative. */
export function toDuration(of: Value): Duration {
  if (of instanceof Duration) return of;
  if (typeof of !== 'string')
    throw new LimitsStop('wrong_type', `duration() was asked of ${label(of)}.`, 'Write duration("1h30m").');
  const negative = of.startsWith('-');
  const read = parseDuration(negative ? of.slice(1) : of);
  if (!read.ok) throw new LimitsStop('bad_value', read.error.message, read.error.hint);
  return new Duration(negative ? -read.value : read.value);
}

export function timestampText(of: Timestamp): string {
  if (Math.abs(of.ms) > MAX_TIME_MS)
    throw new LimitsStop('out_of_range', 'A timestamp is too far off to be written.');
  return new Date(of.ms).toISOString();
}

export const durationText = (of: Duration): string => `${of.ms / 1000}s`;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Parts of a timestamp (UTC, months and days of the week from 0 as in CEL), or a duration's whole hours, minutes, …. */
const reader =
  (of: (date: Date) => number, wholeMs?: number) =>
  (value: Value): bigint => {
    if (value instanceof Timestamp && Math.abs(value.ms) <= MAX_TIME_MS)
      return BigInt(of(new Date(value.ms)));
    if (value instanceof Duration && wholeMs !== undefined) return BigInt(Math.trunc(value.ms / wholeMs));
    throw new LimitsStop(
      'wrong_type',
      `A part of a time was asked of ${label(value)}.`,
      'Use timestamp(x) or duration(x) first.',
    );
  };

export const TIME_FUNCTIONS: ReadonlyMap<string, (of: Value) => bigint> = new Map([
  ['getFullYear', reader((date) => date.getUTCFullYear())],
  ['getMonth', reader((date) => date.getUTCMonth())],
  ['getDate', reader((date) => date.getUTCDate())],
  ['getDayOfMonth', reader((date) => date.getUTCDate() - 1)],
  ['getDayOfWeek', reader((date) => date.getUTCDay())],
  ['getHours', reader((date) => date.getUTCHours(), HOUR_MS)],
  ['getMinutes', reader((date) => date.getUTCMinutes(), MINUTE_MS)],
  ['getSeconds', reader((date) => date.getUTCSeconds(), SECOND_MS)],
  ['getMilliseconds', reader((date) => date.getUTCMilliseconds(), 1)],
]);
