import type { RunEvent } from '../../../../../telltale/src/log/run-event.ts';
import type { RunState, StepState } from '../../../../../telltale/src/log/run-state.ts';

/** One execution of a step: its status, and what happened during it. */
export interface StepStory {
  readonly step: StepState;
  /** How deep it is nested in states and other steps. */
  readonly depth: number;
  readonly endedAt?: number;
  /** The notes of whoever worked on it. */
  readonly notes?: string;
  /** The event of its first attempt. */
  readonly seq: number;
  /** Reports, verdicts, plans, reviews and retries, in order. */
  readonly course: readonly RunEvent[];
}

/** Events about a step other than its start and end. */
const COURSE: ReadonlySet<RunEvent['type']> = new Set<RunEvent['type']>([
  ...(['step.retrying', 'step.claimed', 'step.stuck', 'step.interrupted', 'step.compensated'] as const),
  ...(['client.asked', 'client.claimed', 'verify', 'plan.made', 'plan.acted'] as const),
  ...(['review.requested', 'review.resolved', 'review.voided'] as const),
  ...(['model.used', 'component.injected'] as const),
]);

/** The steps of a run in the order of their first start. `events` are those that `state` was folded from. */
export function stepStories(events: readonly RunEvent[], state: RunState): readonly StepStory[] {
  const courses = new Map<string, RunEvent[]>();
  const notes = new Map<string, string>();
  const begins = new Map<string, number>();
  const asked = new Map<string, string>();
  for (const event of events) {
    if (event.seq > state.seq) break;
    if (event.type === 'review.requested') asked.set(event.review, event.step);
    if (event.type === 'step.completed' && event.notes !== undefined) notes.set(event.step, event.notes);
    const step = 'step' in event ? event.step : 'review' in event ? asked.get(event.review) : undefined;
    if (step === undefined) continue;
    if (!begins.has(step)) begins.set(step, event.seq);
    if (!COURSE.has(event.type)) continue;
    const course = courses.get(step);
    if (course === undefined) courses.set(step, [event]);
    else course.push(event);
  }
  return [...state.steps.values()].map((step): StepStory => {
    const said = notes.get(step.step);
    const ended = step.endedSeq === undefined ? undefined : events[step.endedSeq - 1]?.at;
    return {
      step,
      depth: step.step.split('/').length - 1,
      seq: begins.get(step.step) ?? 1,
      course: courses.get(step.step) ?? [],
      ...(ended === undefined ? {} : { endedAt: ended }),
      ...(said === undefined ? {} : { notes: said }),
    };
  });
}
