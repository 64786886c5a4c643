import type { ActionState } from '../events/action.ts';
import { wholeEnd } from './cut-text.ts';
import { lineBreaksIn, showResult } from './show-result.ts';

/** A part of what an action gave. Offsets count UTF-16 code units of its text, without line numbers. */
export interface OutputPage {
  readonly text: string;
  /** Where lines are shown with their numbers: the number of the first one. */
  readonly line?: number;
  readonly offset: number;
  /** Where the next part begins; absent at the end. */
  readonly next_offset?: number;
  readonly total: number;
}

/**
 * What the internal action `read_output` answers: up to `limit` characters from `offset` on, never more than `max`, which is
 * what a result shows. Any numbers will do: they are brought into range, and no surrogate pair is parted.
 */
export function readOutput(state: ActionState, max: number, offset = 0, limit = max): OutputPage {
  const { text, firstLine } = showResult(state);
  const from = wholeEnd(text, clamp(offset, 0, text.length));
  // A pair is two units long: a shorter page could not get past it.
  const most = clamp(limit, 2, max);
  const to = wholeEnd(text, Math.min(text.length, from + most));
  return {
    text: text.slice(from, to),
    ...(firstLine === undefined ? {} : { line: firstLine + lineBreaksIn(text.slice(0, from)) }),
    offset: from,
    ...(to < text.length ? { next_offset: to } : {}),
    total: text.length,
  };
}

const clamp = (value: number, least: number, most: number) =>
  Number.isNaN(value) ? least : Math.trunc(Math.min(most, Math.max(least, value)));
