import { displayWidth } from '../../manifest/display-width.ts';
import type { Palette } from '../../manifest/palette.ts';
import { type ActionView, isOver } from './action-log.ts';
import { brief, briefFields } from './brief.ts';
import { clip } from './columns.ts';
import { spanText } from './figures.ts';

interface Mark {
  readonly sign: string;
  readonly paint: keyof Palette;
}

const MARKS: Readonly<Record<ActionView['state'], Mark>> = {
  waiting: { sign: '○', paint: 'dim' },
  running: { sign: '▶', paint: 'cyan' },
  retrying: { sign: '↻', paint: 'yellow' },
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  skipped: { sign: '–', paint: 'dim' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '!', paint: 'yellow' },
};

/** Parameters get this part of a line, the rest is for the result. */
const PARAMETERS_SHARE = 0.4;

/** One action on one line: how it stands, what it calls, with what, for how long, and what came of it. */
export function actionLine(view: ActionView, columns: number, now: number, paint: Palette): string {
  const { sign, paint: colour } = MARKS[view.state];
  const name = clip(`${brief(view.action.id, columns)} ${brief(view.action.name, columns)}`, columns - 2);
  const parts: { readonly text: string; readonly colour?: keyof Palette }[] = [
    { text: briefFields(view.action.parameters, Math.floor(columns * PARAMETERS_SHARE)), colour: 'dim' },
    { text: timeText(view, now) },
    { text: noteText(view, columns), colour: isOver(view) && view.state !== 'completed' ? colour : 'dim' },
  ];
  let left = columns - 2 - displayWidth(name);
  let line = `${paint[colour](sign)} ${name}`;
  for (const { text, colour: tint } of parts) {
    const shown = clip(text, left - 2);
    if (shown === '' || left < 3) continue;
    line += `  ${tint === undefined ? shown : paint[tint](shown)}`;
    left -= displayWidth(shown) + 2;
  }
  return line;
}

function timeText(view: ActionView, now: number): string {
  const ms = view.ms ?? (isOver(view) || view.startedAt === undefined ? undefined : now - view.startedAt);
  const tries = view.attempt > 1 ? `try ${view.attempt}` : '';
  return [tries, ms === undefined ? '' : spanText(ms)].filter((part) => part !== '').join(', ');
}

function noteText({ action, state, note }: ActionView, columns: number): string {
  if (state === 'waiting')
    return action.depends_on === undefined ? '' : brief(`after ${action.depends_on.join(', ')}`, columns);
  const text = note === undefined || note === null ? '' : brief(note, columns);
  if (state === 'completed' || state === 'running' || state === 'failed') return text;
  return text === '' ? state : `${state}: ${text}`;
}
