import { displayWidth } from '../../manifest/display-width.ts';
import type { Palette } from '../../manifest/palette.ts';
import { clip } from './columns.ts';
import { spanText } from './figures.ts';

/** How an action or a step stands, as a sign. */
interface Mark {
  readonly sign: string;
  readonly paint: keyof Palette;
}

export const MARKS = {
  waiting: { sign: '○', paint: 'dim' },
  running: { sign: '▶', paint: 'cyan' },
  retrying: { sign: '↻', paint: 'yellow' },
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  skipped: { sign: '–', paint: 'dim' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '!', paint: 'yellow' },
  compensated: { sign: '↶', paint: 'yellow' },
} as const satisfies Readonly<Record<string, Mark>>;

/** What it was given gets this part of a line, the rest is for what came of it. */
export const GIVEN_SHARE = 0.4;

export interface LinePart {
  readonly text: string;
  readonly colour?: keyof Palette;
}

/** A sign, a name, and as much of the parts as there is room for. */
export function progressLine(
  { sign, paint: colour }: Mark,
  name: string,
  parts: readonly LinePart[],
  columns: number,
  paint: Palette,
): string {
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

export interface Timed {
  readonly attempt: number;
  readonly ms?: number;
  readonly startedAt?: number;
}

/** Which try it is, and how long it took, or has taken so far. */
export function timeText({ attempt, ms, startedAt }: Timed, isOver: boolean, now: number): string {
  const span = ms ?? (isOver || startedAt === undefined ? undefined : now - startedAt);
  const tries = attempt > 1 ? `try ${attempt}` : '';
  return [tries, span === undefined ? '' : spanText(span)].filter((part) => part !== '').join(', ');
}
