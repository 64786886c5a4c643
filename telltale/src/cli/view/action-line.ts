import type { Palette } from '../../manifest/palette.ts';
import { type ActionView, isOver } from './action-log.ts';
import { brief, briefFields } from './brief.ts';
import { clip } from './columns.ts';
import { GIVEN_SHARE, MARKS, progressLine, timeText } from './progress-line.ts';

/** One action on one line: how it stands, what it calls, with what, for how long, and what came of it. */
export function actionLine(view: ActionView, columns: number, now: number, paint: Palette): string {
  const mark = MARKS[view.state];
  const name = clip(`${brief(view.action.id, columns)} ${brief(view.action.name, columns)}`, columns - 2);
  const parts = [
    { text: briefFields(view.input, Math.floor(columns * GIVEN_SHARE)), colour: 'dim' },
    { text: timeText(view, isOver(view), now) },
    {
      text: noteText(view, columns),
      colour: isOver(view) && view.state !== 'completed' ? mark.paint : 'dim',
    },
  ] as const;
  return progressLine(mark, name, parts, columns, paint);
}

function noteText({ action, state, note }: ActionView, columns: number): string {
  if (state === 'waiting')
    return action.depends_on === undefined ? '' : brief(`after ${action.depends_on.join(', ')}`, columns);
  const text = note === undefined || note === null ? '' : brief(note, columns);
  if (state === 'completed' || state === 'running' || state === 'failed') return text;
  return text === '' ? state : `${state}: ${text}`;
}
