import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Schedule } from '../engine.ts';
import { createAlarm } from './alarm.ts';

/** The first time after `after`; undefined where there is none. */
type Next = (after: number) => number | undefined;

interface Planned {
  readonly next: Next;
  readonly fire: (due: number) => void;
}

export interface Schedules {
  /** As `Engine.schedule`. */
  add(name: string, schedule: Schedule, fire: (due: number) => void): () => void;
  close(): void;
}

export function createSchedules(clock: Clock, onError: (thrown: unknown) => void): Schedules {
  const named = new Map<string, () => void>();
  const alarm = createAlarm<Planned>(clock, (planned, due) => {
    try {
      plan(planned, clock.now());
      planned.fire(due);
    } catch (thrown) {
      onError(thrown);
    }
  });

  const plan = (planned: Planned, after: number) => {
    const due = planned.next(after);
    if (due !== undefined) alarm.set(planned, due);
  };

  return {
    add(name, schedule, fire) {
      const now = clock.now();
      let ended = false;
      let planned: Planned | undefined;
      const begin = (next: Next) => {
        if (ended) return;
        planned = { next, fire };
        plan(planned, now);
      };
      const end = () => {
        ended = true;
        if (planned !== undefined) alarm.delete(planned);
        if (named.get(name) === end) named.delete(name);
      };
      const every = 'everyMs' in schedule ? nextOf(name, schedule) : undefined;
      named.get(name)?.();
      named.set(name, end);
      if (every !== undefined) begin(every);
      else if ('cron' in schedule) loadCron(name, schedule).then(begin).catch(onError);
      return end;
    },
    close() {
      for (const end of [...named.values()]) end();
      alarm.close();
    },
  };
}

function nextOf(name: string, { everyMs, from }: Extract<Schedule, { readonly everyMs: number }>): Next {
  if (!(Number.isFinite(everyMs) && everyMs >= 1 && Number.isFinite(from)))
    throw scheduleMalformed(name, `every ${everyMs} ms from ${from} on`);
  return (after) => from + (after < from ? 0 : Math.floor((after - from) / everyMs) + 1) * everyMs;
}

/** Loaded when the first schedule needs it. */
async function loadCron(
  name: string,
  { cron, timezone }: Extract<Schedule, { readonly cron: string }>,
): Promise<Next> {
  const { Cron } = await import('croner');
  try {
    const pattern = new Cron(cron, { timezone, mode: '5-or-6-parts', paused: true });
    const next: Next = (after) => pattern.nextRun(new Date(after))?.getTime();
    next(0); // a time zone that does not exist is found out here
    return next;
  } catch (cause) {
    throw scheduleMalformed(name, `"${cron}" in ${timezone}`, cause);
  }
}

const scheduleMalformed = (name: string, found: string, cause?: unknown) =>
  new RuntimeError('schedule_malformed', `The schedule "${name}" cannot be kept: ${found}.`, {
    hint: 'Give a cron expression of five or six fields and the name of a time zone, or a time of at least a millisecond.',
    cause,
  });
