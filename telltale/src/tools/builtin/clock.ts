import type { Clock } from '../../lib/clock.ts';
import { beginsWithADay } from '../../lib/dates.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { defineOperations, operationMembers } from '../operations.ts';
import type { Target } from '../target.ts';
import type { TargetDeps } from '../target-deps.ts';

const ZONE = { type: 'string', description: 'Such as Europe/Berlin (default UTC).' };

/** The time in any zone, and the time between two moments. */
export function clock({ clock: time }: Pick<TargetDeps, 'clock'>): Target {
  const defined = defineOperations(
    'tool "clock"',
    {
      now: {
        description: 'current date and time: iso, utc, unix_ms, time_zone, weekday',
        parameters: { time_zone: ZONE },
        idempotent: true,
        run: async (input) => nowIn(time, typeof input.time_zone === 'string' ? input.time_zone : 'UTC'),
      },
      difference: {
        description: 'time between two moments: ms, seconds, days, text',
        parameters: {
          from: { type: 'string', description: 'ISO 8601.' },
          to: { type: 'string', description: 'ISO 8601 (default now).' },
        },
        required: ['from'],
        idempotent: true,
        run: async (input) => difference(input, time),
      },
    },
    'now',
  );
  return {
    kind: 'tool',
    name: 'clock',
    description: 'Tells the date and time.',
    ...operationMembers(defined),
    start: 'on_close',
    run: defined.run,
  };
}

function nowIn(time: Clock, zone: string): Json {
  const now = new Date(time.now());
  const parts = partsIn(now, zone);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((each) => each.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace(/^GMT$/, 'GMT+00:00').replace('GMT', '');
  return {
    iso: `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`,
    utc: now.toISOString(),
    unix_ms: now.getTime(),
    time_zone: zone,
    weekday: part('weekday'),
  };
}

function partsIn(now: Date, zone: string): readonly Intl.DateTimeFormatPart[] {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      weekday: 'long',
      timeZoneName: 'longOffset',
    }).formatToParts(now);
  } catch (cause) {
    throw zoneUnknown(zone, cause);
  }
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function difference(input: JsonObject, time: Clock): Json {
  const from = momentOf(input, 'from');
  const to = input.to === undefined ? time.now() : momentOf(input, 'to');
  const ms = to - from;
  const left = Math.abs(ms);
  const amounts = [
    [Math.floor(left / DAY), 'd'],
    [Math.floor((left % DAY) / HOUR), 'h'],
    [Math.floor((left % HOUR) / MINUTE), 'min'],
    [(left % MINUTE) / SECOND, 's'],
  ] as const;
  const words = amounts.filter(([amount]) => amount !== 0).map(([amount, unit]) => `${amount} ${unit}`);
  return {
    ms,
    seconds: ms / SECOND,
    days: ms / DAY,
    text: `${ms < 0 ? '-' : ''}${words.join(' ') || '0 s'}`,
  };
}

/** A moment without a zone counts as UTC on every machine. */
function momentOf(input: JsonObject, key: string): number {
  const text = String(input[key]).trim();
  const match = /^\d{4}-\d{2}-\d{2}(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(
    text,
  );
  const moment =
    match === null || !beginsWithADay(text)
      ? Number.NaN
      : Date.parse(match[1] === undefined || match[2] !== undefined ? text : `${text.replace(' ', 'T')}Z`);
  if (Number.isNaN(moment)) throw noMoment(key, text);
  return moment;
}

const zoneUnknown = (zone: string, cause: unknown) =>
  new RuntimeError('bad_parameters', `"/time_zone" is "${zone.slice(0, 100)}", which is not a time zone.`, {
    hint: suggestZone(zone),
    cause,
  });

const suggestZone = (zone: string): string => {
  const hint = suggest(zone, Intl.supportedValuesOf('timeZone'));
  return hint.startsWith('Did') ? hint : 'Write it like Europe/Berlin or America/New_York.';
};

const noMoment = (key: string, text: string) =>
  new RuntimeError('bad_parameters', `"/${key}" is "${text.slice(0, 100)}", which is not a date or time.`, {
    hint: 'Write it like 2026-01-31 or 2026-01-31T12:00:00Z.',
  });
