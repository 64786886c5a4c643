import { quantityPattern, readQuantity, spelt } from './quantity.ts';
import type { Result } from './result.ts';

const SECOND = 1000;

const DURATION = {
  what: 'duration',
  code: 'bad_duration',
  bare: 's',
  example: '"250ms", "30s", "5m", "1h30m" or a bare number of seconds',
  units: new Map([
    ['ms', 1],
    ['s', SECOND],
    ['m', 60 * SECOND],
    ['h', 3_600 * SECOND],
    ['d', 86_400 * SECOND],
    ['w', 604_800 * SECOND],
  ]),
  words: new Map([
    ...spelt('ms', 'millisecond', 'milliseconds', 'millis', 'msec'),
    ...spelt('s', 'second', 'seconds', 'sec', 'secs'),
    ...spelt('m', 'minute', 'minutes', 'min', 'mins'),
    ...spelt('h', 'hour', 'hours', 'hr', 'hrs'),
    ...spelt('d', 'day', 'days'),
    ...spelt('w', 'week', 'weeks'),
  ]),
} as const;

/** For JSON Schemas. */
export const DURATION_PATTERN = quantityPattern(DURATION);

/** Milliseconds of `30s`, `1h30m`, `250ms`; a bare number is seconds. */
export function parseDuration(input: string | number): Result<number> {
  return readQuantity(input, DURATION);
}
