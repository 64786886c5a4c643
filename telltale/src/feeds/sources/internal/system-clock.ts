import type { Json, JsonObject } from '../../../kernel/json.ts';
import { nearest } from '../../../kernel/nearest.ts';
import { badParams } from '../feed-errors.ts';

export const CLOCK_FORMATS = ['ISO8601', 'RFC2822', 'unix', 'unix_ms', 'date', 'time'];

/** The time as `format` says, in the zone that `timezone` says: ISO 8601 and UTC if absent. */
export function timeNow({ format = 'ISO8601', timezone = 'UTC' }: JsonObject, now: number): Json {
  if (format === 'unix') return Math.floor(now / 1000);
  if (format === 'unix_ms') return now;
  const part = partsIn(now, String(timezone));
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${part('hour')}:${part('minute')}:${part('second')}`;
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  switch (format) {
    case 'date':
      return date;
    case 'time':
      return time;
    case 'RFC2822':
      return `${part('weekday')}, ${part('day')} ${MONTHS[Number(part('month')) - 1]} ${part('year')} ${time} ${offset.replace(':', '')}`;
    default:
      return `${date}T${time}${offset === '+00:00' ? 'Z' : offset}`;
  }
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function partsIn(now: number, zone: string): (type: Intl.DateTimeFormatPartTypes) => string {
  const two = '2-digit';
  const clock = { hour: two, minute: two, second: two, hourCycle: 'h23' } as const;
  const calendar = { year: 'numeric', month: two, day: two, weekday: 'short' } as const;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      timeZoneName: 'longOffset',
      ...calendar,
      ...clock,
    });
    const parts = format.formatToParts(now);
    return (type) => parts.find((part) => part.type === type)?.value ?? '';
  } catch {
    throw zoneUnknown(zone);
  }
}

const zoneUnknown = (zone: string) => {
  const near = nearest(zone, Intl.supportedValuesOf('timeZone'));
  return badParams(
    'the internal source "system_clock"',
    `"/timezone" is "${zone.slice(0, 100)}", which is no time zone.`,
    near === undefined ? 'Write it like Europe/Berlin, or UTC.' : `Did you mean "${near}"?`,
  );
};
