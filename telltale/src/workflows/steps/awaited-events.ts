import { stepName } from '../../events/reduce-run.ts';
import type { RunState } from '../../events/run-state.ts';
import type { Stepped } from '../all-steps.ts';
import { eventWaits } from './signals-taken.ts';

export interface AwaitedEvent {
  /** The address of the step that waits. */
  readonly step: string;
  readonly event: string;
  /** When it began to wait. */
  readonly since: number;
}

/** The events that a run waits for now: those of its session's log are to be passed on to it as signals. */
export function awaitedEvents(
  workflow: Stepped,
  { steps }: Pick<RunState, 'steps'>,
): readonly AwaitedEvent[] {
  const waits = eventWaits(workflow);
  if (waits.size === 0) return [];
  return [...steps.values()].flatMap(({ step, status, startedAt }) => {
    const wait = status === 'running' ? waits.get(stepName(step)) : undefined;
    return wait === undefined ? [] : [{ step, event: wait.event, since: startedAt }];
  });
}
