import type { StepStatus } from '../../events/run-state.ts';
import { displayWidth } from '../../manifest/display-width.ts';
import type { Palette } from '../../manifest/palette.ts';
import { brief, briefFields } from './brief.ts';
import { clip } from './columns.ts';
import { spanText } from './figures.ts';
import { isStepOver, type StepView } from './step-log.ts';

interface Mark {
  readonly sign: string;
  readonly paint: keyof Palette;
}

const MARKS: Readonly<Record<StepStatus, Mark>> = {
  running: { sign: '▶', paint: 'cyan' },
  retrying: { sign: '↻', paint: 'yellow' },
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  skipped: { sign: '–', paint: 'dim' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '!', paint: 'yellow' },
  compensated: { sign: '↶', paint: 'yellow' },
};

const INPUT_SHARE = 0.4;

/** One step on one line: how it stands, with what it was given, for how long, and what came of it. */
export function stepLine(view: StepView, columns: number, now: number, paint: Palette): string {
  const { sign, paint: colour } = MARKS[view.status];
  const name = brief(view.step, columns - 2);
  const ms = view.ms ?? (isStepOver(view) || view.startedAt === undefined ? undefined : now - view.startedAt);
  const time = [view.attempt > 1 ? `try ${view.attempt}` : '', ms === undefined ? '' : spanText(ms)];
  const note = view.note === undefined || view.note === null ? '' : brief(view.note, columns);
  const parts: readonly (readonly [text: string, colour?: keyof Palette])[] = [
    [briefFields(view.input ?? {}, Math.floor(columns * INPUT_SHARE)), 'dim'],
    [time.filter((part) => part !== '').join(', ')],
    [note, isStepOver(view) && view.status !== 'completed' ? colour : 'dim'],
  ];
  let left = columns - 2 - displayWidth(name);
  let line = `${paint[colour](sign)} ${name}`;
  for (const [text, tint] of parts) {
    const shown = clip(text, left - 2);
    if (shown === '' || left < 3) continue;
    line += `  ${tint === undefined ? shown : paint[tint](shown)}`;
    left -= displayWidth(shown) + 2;
  }
  return line;
}
