import type { Clock } from '../../kernel/clock.ts';
import type { Schedule } from '../engine.ts';
import { everyTimetable, openTimetable, type Timetable } from '../timetable.ts';
import { createAlarm } from './alarm.ts';

interface Planned {
  readonly next: Timetable['next'];
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
      const begin = ({ next }: Timetable) => {
        if (ended) return;
        planned = { next, fire };
        plan(planned, now);
      };
      const end = () => {
        ended = true;
        if (planned !== undefined) alarm.delete(planned);
        if (named.get(name) === end) named.delete(name);
      };
      const every = 'everyMs' in schedule ? everyTimetable(name, schedule) : undefined;
      named.get(name)?.();
      named.set(name, end);
      if (every !== undefined) begin(every);
      else openTimetable(name, schedule).then(begin).catch(onError);
      return end;
    },
    close() {
      for (const end of [...named.values()]) end();
      alarm.close();
    },
  };
}
