import { RuntimeError } from '../lib/errors.ts';
import type { Schedule } from './engine.ts';

/** The times of a schedule. */
export interface Timetable {
  /** The first time after `after`; undefined where there is none. */
  next(after: number): number | undefined;
  /** The times after `after`, up to and with `until`. */
  between(after: number, until: number): Dues;
}

export interface Dues {
  /** The newest of them, `MAX_DUES` at most, in order. */
  readonly newest: readonly number[];
  /** How many came before those; counted up to `MAX_COUNTED` in all. */
  readonly older: number;
}

/** Of the times that came due, how many are given by name. */
const MAX_DUES = 100;
/** A time of cron takes about 70 µs to find: nobody waits for a year of minutes to be counted. */
const MAX_COUNTED = 1_000;

export const openTimetable = async (name: string, schedule: Schedule): Promise<Timetable> =>
  'everyMs' in schedule ? everyTimetable(name, schedule) : cronTimetable(name, schedule);

/** Throws `schedule_malformed`. */
export function everyTimetable(
  name: string,
  { everyMs, from }: Extract<Schedule, { readonly everyMs: number }>,
): Timetable {
  if (!(Number.isFinite(everyMs) && everyMs >= 1 && Number.isFinite(from)))
    throw scheduleMalformed(name, `every ${everyMs} ms from ${from} on`);
  const next = (after: number) =>
    from + (after < from ? 0 : Math.floor((after - from) / everyMs) + 1) * everyMs;
  return {
    next,
    between(after, until) {
      const first = next(after);
      const count = until < first ? 0 : Math.floor((until - first) / everyMs) + 1;
      const shown = Math.min(count, MAX_DUES);
      return {
        newest: Array.from({ length: shown }, (_, i) => first + (count - shown + i) * everyMs),
        older: Math.min(count, MAX_COUNTED) - shown,
      };
    },
  };
}

/** What reads cron expressions is loaded when the first schedule needs it. */
async function cronTimetable(
  name: string,
  { cron, timezone }: Extract<Schedule, { readonly cron: string }>,
): Promise<Timetable> {
  const { Cron } = await import('croner');
  try {
    const pattern = new Cron(cron, { timezone, mode: '5-or-6-parts', paused: true });
    const next = (after: number) => pattern.nextRun(new Date(after))?.getTime();
    next(0); // a time zone that does not exist is found out here
    return {
      next,
      between(after, until) {
        const first = next(after);
        if (first === undefined || first > until) return { newest: [], older: 0 };
        const second = next(first);
        if (second === undefined || second > until) return { newest: [first], older: 0 };
        // It looks before a time, to the second.
        const found = pattern
          .previousRuns(MAX_COUNTED, new Date(until + 1_000))
          .map((date) => date.getTime())
          .filter((due) => due > after && due <= until)
          .reverse();
        return { newest: found.slice(-MAX_DUES), older: Math.max(0, found.length - MAX_DUES) };
      },
    };
  } catch (cause) {
    throw scheduleMalformed(name, `"${cron}" in ${timezone}`, cause);
  }
}

const scheduleMalformed = (name: string, found: string, cause?: unknown) =>
  new RuntimeError('schedule_malformed', `The schedule "${name}" cannot be kept: ${found}.`, {
    hint: 'Give a cron expression of five or six fields and the name of a time zone, or a time of at least a millisecond.',
    cause,
  });
