import type { Palette } from '../../manifest/palette.ts';
import { brief, briefFields } from './brief.ts';
import { GIVEN_SHARE, MARKS, progressLine, timeText } from './progress-line.ts';
import { isStepOver, type StepView } from './step-log.ts';

/** One step on one line: how it stands, with what it was given, for how long, and what came of it. */
export function stepLine(view: StepView, columns: number, now: number, paint: Palette): string {
  const mark = MARKS[view.status];
  const isOver = isStepOver(view);
  const note = view.note === undefined || view.note === null ? '' : brief(view.note, columns);
  const parts = [
    { text: briefFields(view.input ?? {}, Math.floor(columns * GIVEN_SHARE)), colour: 'dim' },
    { text: timeText(view, isOver, now) },
    { text: note, colour: isOver && view.status !== 'completed' ? mark.paint : 'dim' },
  ] as const;
  return progressLine(mark, brief(view.step, columns - 2), parts, columns, paint);
}
