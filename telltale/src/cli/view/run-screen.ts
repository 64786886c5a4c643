import type { RunEvent } from '../../log/run-event.ts';
import { createChangingLines } from './changing-lines.ts';
import { countText, spanText } from './figures.ts';
import type { Frame, LiveScreenOptions } from './live-screen.ts';
import { toFixRows } from './root-cause.ts';
import { runNote } from './run-note.ts';
import { spinner } from './run-progress.ts';
import { createStepLog, isStepOver, type StepView, stepLines } from './step-log.ts';
import { clip } from './text-width.ts';

/** Folds the events of a workflow run into lines: see `LiveScreen`. */
export interface RunScreen {
  show(event: RunEvent): void;
  /** Takes in an event that was shown before, elsewhere. */
  recall(event: RunEvent): void;
  frame(now: number): Frame;
  finish(now: number): readonly string[];
}

const MARGIN = '  ';
const MIN_COLUMNS = 10;
/** See `live-screen.ts`. */
const ECHO = 2;
const MAX_LIVE = 20;

export function createRunScreen({
  paint,
  size,
  status,
  debug = {},
  asks = false,
  whole,
}: LiveScreenOptions): RunScreen {
  const steps = createStepLog();
  const width = () => Math.max(MIN_COLUMNS, size().columns - 1);
  const lines = createChangingLines<StepView>(isStepOver, (step, now) =>
    stepLines(step, width() - MARGIN.length, now, paint, whole?.(run, step.step)).map(
      (line) => MARGIN + line,
    ),
  );
  let run = '';
  let startedAt: number | undefined;
  let state: string | undefined;
  const follow = (event: RunEvent) => {
    run = event.run;
    if (event.type === 'workflow.started' || event.type === 'workflow.resumed') startedAt = event.at;
    if (event.type === 'state.entered') state = event.state;
    return steps.take(event);
  };
  const progress = (now: number) => {
    const running = steps.running().length;
    const parts = [
      ...(state === undefined ? [] : [`state ${state}`]),
      running === 0 ? 'at work' : `${countText(running, 'step')} running`,
      ...(startedAt === undefined ? [] : [spanText(now - startedAt)]),
    ];
    return paint.dim(clip(`${spinner(now)} ${parts.join(' · ')}`, width() - ECHO));
  };
  return {
    show(event) {
      const step = follow(event);
      if (step === undefined) {
        if (asks && event.type === 'review.requested') return;
        const note = runNote(event, width() - MARGIN.length, paint, debug);
        if (note !== undefined) lines.line(MARGIN + note);
        return;
      }
      const isUndone = event.type === 'step.compensated';
      if (step.isNew || isUndone || (isStepOver(step.view) && lines.attach(step.view)))
        lines.thing(isUndone ? { ...step.view } : step.view);
      if (event.type === 'step.failed')
        for (const row of toFixRows(event.error, width() - 2 * MARGIN.length))
          lines.line(MARGIN + MARGIN + paint.red(row));
    },
    recall(event) {
      const step = follow(event);
      if (step === undefined) return;
      if (isStepOver(step.view)) lines.attach(step.view);
      else lines.detach(step.view);
    },
    frame(now) {
      const most = Math.max(1, Math.min(MAX_LIVE, size().rows - 1) - 1);
      const done = lines.take(now, most);
      return { done, live: [...lines.live(now), status?.() ?? progress(now)] };
    },
    finish: (now) => lines.take(now, 0),
  };
}
