import type { StateSpan } from '../../../telltale/src/log/session-summary.ts';

export interface PlacedSpan {
  readonly span: StateSpan;
  readonly ms: number;
  /** Its share of the whole, from 0 to 1. */
  readonly share: number;
}

/**
 * The position of each span between `from` and `to`. The first one extends back to `from`. Each ends where the next one
 * begins.
 */
export function placeSpans(spans: readonly StateSpan[], from: number, to: number): readonly PlacedSpan[] {
  const whole = Math.max(1, to - from);
  const placed: PlacedSpan[] = [];
  spans.forEach((span, at) => {
    const begins = at === 0 ? from : Math.max(from, span.at);
    const ends = Math.min(to, spans[at + 1]?.at ?? to);
    if (at + 1 < spans.length && ends <= begins) return;
    const ms = Math.max(0, ends - begins);
    placed.push({ span, ms, share: ms / whole });
  });
  return placed;
}
