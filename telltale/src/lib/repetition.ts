import { extendText, layOut } from './text.ts';

/** The longest text whose repetition is seen: a paragraph of some 600 words. */
export const MAX_PERIOD = 4096;
/** How much is looked at together: two such windows side by side overlap by twice the longest period. */
const WINDOW = 4 * MAX_PERIOD;
/** How far apart the windows begin. */
const STEP = WINDOW / 2;
/** Most texts are shorter than this: nothing is kept of them. */
const SKIPPED = 8 * 1024;

/** What a text that comes in pieces repeats at its end. */
export interface Repetition {
  /** The end of the text, a window at most. */
  tail: string;
  /** Characters until the next look. */
  left: number;
  /** Characters at the end that are one text again and again, and how long that is; 0 where they are not. */
  run: number;
  period: number;
  /** Whether it is long enough to be looked at. */
  isLong: boolean;
}

export const createRepetition = (): Repetition => ({
  tail: '',
  left: SKIPPED,
  run: 0,
  period: 0,
  isLong: false,
});

/** How much of `text` from `from` on may be read before the next look. Looks stand at fixed places, however it is cut. */
export const untilLook = ({ left }: Repetition, text: string, from: number): number =>
  Math.min(text.length, from + left);

/** Reads on, no further than `untilLook` says. Whether `run` was looked at anew. Linear in time, constant in memory. */
export function readRepetition(repetition: Repetition, piece: string): boolean {
  repetition.left -= piece.length;
  if (!repetition.isLong) {
    repetition.isLong = repetition.left <= 0;
    if (repetition.isLong) repetition.left = WINDOW;
    return false;
  }
  repetition.tail = extendText(repetition.tail, piece);
  if (repetition.left > 0) return false;
  layOut(repetition.tail);
  const window = repetition.tail;
  const period = periodOf(window);
  repetition.period = period <= MAX_PERIOD ? period : 0;
  repetition.run = period > MAX_PERIOD ? 0 : repetition.run === 0 ? WINDOW : repetition.run + STEP;
  repetition.tail = window.slice(-STEP);
  repetition.left = STEP;
  return true;
}

const BORDERS = new Int32Array(WINDOW);

/** The shortest length after which a text of at most a window repeats itself (Knuth, Morris, Pratt). */
function periodOf(text: string): number {
  let border = 0;
  BORDERS[0] = 0;
  for (let at = 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (border > 0 && text.charCodeAt(border) !== code) border = BORDERS[border - 1] as number;
    if (text.charCodeAt(border) === code) border++;
    BORDERS[at] = border;
  }
  return text.length - border;
}

/** Where the repetition begins that a text ends with, and how long what it repeats is; undefined where it ends with none. */
export function repeatedEnd(text: string): { readonly from: number; readonly period: number } | undefined {
  if (text.length < WINDOW) return undefined;
  const period = periodOf(text.slice(-WINDOW));
  if (period > MAX_PERIOD) return undefined;
  let from = text.length - WINDOW;
  while (from > 0 && text.charCodeAt(from - 1) === text.charCodeAt(from - 1 + period)) from--;
  return { from, period };
}
