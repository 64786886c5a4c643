import type { Json, JsonObject } from '../../lib/json.ts';
import type { RunEvent } from '../../log/run-event.ts';
import type { StepStatus } from '../../log/run-state.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { GIVEN_SHARE, type LinePart, MARKS, progressLine, timeText, withResult } from './action-line.ts';
import { SKIPPED } from './describe-run-event.ts';
import { isToFix } from './root-cause.ts';
import { brief, briefFields } from './text-width.ts';

/** One step on one line: its status, its input, its duration and its result. */
export function stepLine(view: StepView, columns: number, now: number, paint: Palette): string {
  const isOver = isStepOver(view);
  const note = view.note === undefined || view.note === null ? '' : brief(view.note, columns);
  const color = isOver && view.status !== 'completed' ? MARKS[view.status].paint : 'dim';
  return lineWith(view, columns, now, paint, { text: note, color });
}

/** The same with a readable result: see `actionLines`. */
export function stepLines(
  view: StepView,
  columns: number,
  now: number,
  paint: Palette,
  more?: string,
): readonly string[] {
  const { status, note } = view;
  if (status !== 'completed' || note === undefined || note === null)
    return [stepLine(view, columns, now, paint)];
  const line = lineWith(view, columns, now, paint);
  const untimed = lineWith({ ...view, ms: 0 }, columns, now, paint);
  return withResult({ line, untimed, output: note }, columns, paint, more);
}

function lineWith(view: StepView, columns: number, now: number, paint: Palette, note?: LinePart): string {
  const parts: readonly LinePart[] = [
    { text: briefFields(view.input ?? {}, Math.floor(columns * GIVEN_SHARE)), color: 'dim' },
    { text: timeText(view, isStepOver(view), now) },
    ...(note === undefined ? [] : [note]),
  ];
  return progressLine(MARKS[view.status], brief(view.step, columns - 2), parts, columns, paint);
}

/** The state of a run's step, as a view shows it. */
export interface StepView {
  /** See `RunEventBody`. */
  readonly step: string;
  status: StepStatus;
  startedAt?: number;
  ms?: number;
  attempt: number;
  input?: JsonObject;
  /** Its output, or its error. */
  note?: Json;
}

export const isStepOver = ({ status }: Pick<StepView, 'status'>): boolean =>
  status !== 'running' && status !== 'retrying';

/** The steps of a run by address, in the order in which they started. */
export interface StepLog {
  /** Applies an event. Returns the step that it is about, and whether it is new. */
  take(event: RunEvent): { readonly view: StepView; readonly isNew: boolean } | undefined;
  running(): readonly StepView[];
}

export function createStepLog(): StepLog {
  const steps = new Map<string, StepView>();
  const open = new Map<string, StepView>();

  const change = (step: string, changes: Partial<StepView> & Pick<StepView, 'status'>) => {
    const known = steps.get(step);
    const view = known ?? { step, status: changes.status, attempt: 0 };
    Object.assign(view, changes);
    steps.set(step, view);
    if (isStepOver(view)) open.delete(step);
    else open.set(step, view);
    return { view, isNew: known === undefined };
  };

  return {
    take(event) {
      switch (event.type) {
        case 'step.started': {
          const startedAt = steps.get(event.step)?.startedAt ?? event.at;
          const input = event.input === undefined ? {} : { input: event.input };
          return change(event.step, { status: 'running', startedAt, attempt: event.attempt, ...input });
        }
        case 'step.completed':
          return change(event.step, {
            status: 'completed',
            ms: event.ms,
            attempt: event.attempts,
            note: event.output,
          });
        case 'step.retrying':
          return change(event.step, { status: 'retrying', note: event.error.message });
        case 'step.failed': {
          // The full text is shown below.
          const note = isToFix(event.error)
            ? event.error.code
            : `${event.error.code}: ${event.error.message}`;
          return change(event.step, { status: 'failed', ms: event.ms, attempt: event.attempts, note });
        }
        case 'step.skipped': {
          const because = event.because === undefined ? '' : ` (${event.because})`;
          return change(event.step, { status: 'skipped', note: `${SKIPPED[event.reason]}${because}` });
        }
        case 'step.cancelled':
          return change(event.step, { status: 'cancelled', note: event.reason });
        case 'step.interrupted':
          return change(event.step, { status: 'interrupted', note: 'whether it took effect is not known' });
        case 'step.compensated':
          return change(event.step, {
            status: 'compensated',
            note: event.error === undefined ? 'undone' : `could not be undone: ${event.error.message}`,
          });
      }
      return undefined;
    },
    running: () => [...open.values()],
  };
}
