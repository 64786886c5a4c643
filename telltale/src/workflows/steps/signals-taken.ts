import { stepName } from '../../events/reduce-run.ts';
import type { RunState } from '../../events/run-state.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { allSteps, type Stepped } from '../all-steps.ts';

/** A step that waits for an event. */
export type EventWait = Extract<Step, { readonly type: 'wait'; readonly event: string }>;

const isEventWait = (step: Step): step is EventWait => step.type === 'wait' && 'event' in step;

/** The waits of a workflow for events, by name. */
export const eventWaits = (workflow: Stepped): ReadonlyMap<string, EventWait> =>
  new Map(
    allSteps(workflow)
      .filter(isEventWait)
      .map((step) => [step.name, step]),
  );

/** The signals that waits of this run have taken, by their places on its log. */
export function signalsTaken(workflow: Stepped, { steps }: Pick<RunState, 'steps'>): Set<number> {
  if (steps.size === 0) return new Set();
  const waits = eventWaits(workflow);
  if (waits.size === 0) return new Set();
  return new Set(
    [...steps.values()].flatMap(({ step, output }) =>
      waits.has(stepName(step)) && isMap(output) && typeof output.seq === 'number' ? [output.seq] : [],
    ),
  );
}
