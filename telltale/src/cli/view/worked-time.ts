import type { SessionEvent } from '../../events/event.ts';

/** The time in which a session was worked on: without pauses for a person or between two processes. */
export interface WorkedTime {
  add(event: SessionEvent): void;
  /** In milliseconds. `leftAt`: when the session was released, where that is no event. It was worked on until then. */
  result(leftAt?: number): number;
}

export function createWorkedTime(): WorkedTime {
  let firstAt: number | undefined;
  let lastAt = 0;
  let pausedMs = 0;
  let waitingSince: number | undefined;
  return {
    add(event) {
      firstAt ??= event.at;
      if (event.type === 'session.waiting') waitingSince ??= event.at;
      else if (event.type === 'session.resumed') {
        pausedMs += event.at - (waitingSince ?? lastAt);
        waitingSince = undefined;
      } else if (event.type === 'turn.started') {
        if (waitingSince !== undefined) pausedMs += event.at - waitingSince;
        waitingSince = undefined;
      }
      lastAt = event.at;
    },
    result(leftAt = lastAt) {
      const until = waitingSince ?? Math.max(lastAt, leftAt);
      return Math.max(0, until - (firstAt ?? until) - pausedMs);
    },
  };
}
