import type { SessionState } from '../../events/state.ts';
import type { Clock } from '../../kernel/clock.ts';
import { NEVER_DUE } from '../../triggers/pacing.ts';

/** The clock's timers for those on the log that wait for a time. */
export interface WaitTimers {
  /** Of a timer that is on the log; one of the same id is replaced. */
  arm(id: string): void;
  disarm(id: string): void;
  close(): void;
}

export interface WaitTimerDeps {
  readonly state: Pick<SessionState, 'timers'>;
  readonly clock: Clock;
  readonly onDue: (id: string) => void;
}

export function createWaitTimers({ state, clock, onDue }: WaitTimerDeps): WaitTimers {
  const armed = new Map<string, () => void>();
  const disarm = (id: string) => {
    armed.get(id)?.();
    armed.delete(id);
  };
  return {
    disarm,
    arm(id) {
      disarm(id);
      const timer = state.timers.find((each) => each.id === id);
      if (timer === undefined || timer.due === NEVER_DUE) return;
      armed.set(
        id,
        clock.after(timer.due - clock.now(), () => onDue(id)),
      );
    },
    close() {
      for (const id of [...armed.keys()]) disarm(id);
    },
  };
}
