import type { ObservedEvent } from '../../events/event.ts';
import type { RunEvent } from '../../events/run-event.ts';
import type { Palette } from '../../manifest/palette.ts';
import { runNote } from './run-note.ts';
import { stepLine } from './step-line.ts';
import { createStepLog } from './step-log.ts';

/** What a live view shows of the run that leads a session: the steps that no agent works on. */
export interface LeadLines {
  /** The line that an event of the run gets; undefined where it has none. */
  take(event: RunEvent, columns: number): string | undefined;
  /** Takes in an event of the session: it says which steps are the agent's. */
  follow(event: ObservedEvent): void;
  /** The run's own steps that are under way. */
  running(): readonly string[];
}

export function createLeadLines(paint: Palette): LeadLines {
  const steps = createStepLog();
  const given = new Set<string>();
  return {
    take(event, columns) {
      const step = steps.take(event);
      if (step === undefined) return runNote(event, columns, paint);
      const isTask = event.type === 'step.completed' && event.notes !== undefined;
      if (event.type === 'step.started' || isTask) return undefined;
      return stepLine(step.view, columns, event.at, paint);
    },
    follow(event) {
      // A task's key is `RUN:ADDRESS#ATTEMPT`.
      if (event.type === 'task.given') given.add(event.task.replace(/^[^:]*:/, '').replace(/#\d+$/, ''));
    },
    running: () =>
      steps
        .running()
        .map(({ step }) => step)
        .filter((step) => !given.has(step)),
  };
}
