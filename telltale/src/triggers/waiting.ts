import type { Timer } from '../events/reaction-state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';

/**
 * What a firing waits for: `quiet` (debounce), `later` (delay) or its turn among the runs (`queued`). On the log it is a
 * timer; one that is queued has no time of its own and is fired when a run ends.
 */
export type Stage = 'quiet' | 'later' | 'queued';

const PREFIX = 'trigger:';

/** `trigger:WORKFLOW#0` is the one that waits for quiet; others have a word of their own behind. */
export const timerId = (trigger: string, which?: string): string =>
  which === undefined ? `${PREFIX}${trigger}` : `${PREFIX}${trigger}/${which}`;

/** A firing that waits, as its timer's data has it. */
export interface Waiting {
  readonly timer: Timer;
  readonly trigger: string;
  readonly stage: Stage;
  readonly as: 'enter' | 'stay' | 'exit' | null;
  readonly seen: JsonObject;
  readonly chain: readonly string[];
  /** When it began to wait for its turn. */
  readonly since?: number;
}

export type WaitingData = Omit<Waiting, 'timer'>;

export const waitingData = ({ trigger, stage, as, seen, chain, since }: WaitingData): Json => ({
  trigger,
  stage,
  as,
  seen,
  chain: [...chain],
  ...(since === undefined ? {} : { since }),
});

/** Undefined for a timer that is no trigger's. */
export function readWaiting(timer: Timer): Waiting | undefined {
  if (!timer.id.startsWith(PREFIX) || typeof timer.data !== 'object' || timer.data === null) return undefined;
  return { timer, ...(timer.data as unknown as WaitingData) };
}

/** The firings of a trigger that wait, in the order in which they began to. */
export function waitsOf(timers: readonly Timer[], trigger: string): readonly Waiting[] {
  const id = timerId(trigger);
  return timers.flatMap((timer) => {
    if (timer.id !== id && !timer.id.startsWith(`${id}/`)) return [];
    return readWaiting(timer) ?? [];
  });
}

/** `1.5 s`, `3 min`: for messages. */
export function describeWait(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  return `${Math.round(ms / 60_000)} min`;
}
