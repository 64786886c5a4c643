import type { Gap } from './idle-gaps.ts';

/** The width of a gap on the axis, however long it was. */
export const GAP_PX = 34;

/** Converts times of the log to positions on the axis and back. All idle gaps have the same width. */
export interface TimeAxis {
  readonly start: number;
  readonly end: number;
  readonly width: number;
  readonly pxPerMs: number;
  readonly gaps: readonly (Gap & { readonly x: number })[];
  x(at: number): number;
  at(x: number): number;
}

export interface AxisSpan {
  readonly start: number;
  readonly end: number;
  readonly gaps: readonly Gap[];
}

/** Milliseconds of activity in the span. */
const busyMs = ({ start, end, gaps }: AxisSpan): number =>
  Math.max(1, end - start - gaps.reduce((sum, { from, to }) => sum + (to - from), 0));

/** The scale at which the whole span fits `width`. */
export const fitScale = (span: AxisSpan, width: number): number =>
  Math.max(1, width - span.gaps.length * GAP_PX) / busyMs(span);

export function createTimeAxis(span: AxisSpan, pxPerMs: number): TimeAxis {
  const { start, end, gaps } = span;
  /** The position of each gap on the axis. */
  const begins: number[] = [];
  let sum = 0;
  for (const [index, { from, to }] of gaps.entries()) {
    begins.push((from - start - sum) * pxPerMs + index * GAP_PX);
    sum += to - from;
  }
  /** The last gap for which `isBehind` holds. Gaps are in order. */
  const lastGap = (isBehind: (index: number) => boolean): number => {
    let low = 0;
    let high = gaps.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBehind(middle)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  const x = (at: number): number => {
    const index = lastGap((each) => (gaps[each]?.from ?? 0) < at);
    const gap = gaps[index];
    if (gap === undefined) return (at - start) * pxPerMs;
    const begin = begins[index] ?? 0;
    if (at < gap.to) return begin + ((at - gap.from) / (gap.to - gap.from)) * GAP_PX;
    return begin + GAP_PX + (at - gap.to) * pxPerMs;
  };
  return {
    start,
    end,
    pxPerMs,
    x,
    width: Math.max(1, x(end)),
    gaps: gaps.map((gap, index) => ({ ...gap, x: begins[index] ?? 0 })),
    at(place) {
      const index = lastGap((each) => (begins[each] ?? 0) < place);
      const gap = gaps[index];
      if (gap === undefined) return start + place / pxPerMs;
      const begin = begins[index] ?? 0;
      if (place < begin + GAP_PX) return gap.from + ((place - begin) / GAP_PX) * (gap.to - gap.from);
      return gap.to + (place - begin - GAP_PX) / pxPerMs;
    },
  };
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
];

/** A round step between two marks that are at least `leastPx` apart. */
export const axisStep = (pxPerMs: number, leastPx: number): number =>
  STEPS_MS.find((step) => step * pxPerMs >= leastPx) ?? 86_400_000;
